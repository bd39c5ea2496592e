------------------------------- MODULE Failover -------------------------------
(* One exclusive lock on a master whose writes reach its replicas later, in their order. One replica is promoted and
   knows only a beginning of the writes. The old master may be dead, or isolated together with some clients, whom it
   goes on serving.

   What ExclusiveLock.tla shows is taken as given: a command takes no time here, all clocks are one clock, and clients
   and scripts do what they do there. The question is only what the missing writes cost. *)
EXTENDS Integers, Sequences, FiniteSets, TLC

CONSTANTS
    Clients,        \* instances of the application
    Replicas,       \* replicas of the old master
    Lease,          \* Claim.leaseMillis
    GrantTime,      \* StoreTraits.grantTime
    AcquireAcks,    \* how many replicas must have an acquire before its answer counts
    RenewAcks,      \* how many replicas must have a renewal before its answer counts
    ClaimFirst,     \* whether a granted waiter claims before it believes: an acquire of its own, with its acks
    Writes,         \* how many writes there are at most; bounds the search
    LastTime        \* bounds the search

VARIABLES
    now,      \* the time
    log,      \* the writes of the old master: the lock record after each of them
    received, \* how many of them each replica has
    newer,    \* the lock record of the promoted replica; its own writes are acknowledged at once
    promoted, \* whether there was a failover
    side,     \* the master with which each client talks
    state,    \* what each client does: idle, waiting, held
    deadline, \* until when each client believes
    asked     \* what each client has asked for: a write that waits for its acks

vars == <<now, log, received, newer, promoted, side, state, deadline, asked>>

Nobody == "nobody"
Nothing == [write |-> 0, until |-> 0, acks |-> 0]
Free == [owner |-> Nobody, until |-> 0, waiter |-> Nobody]

Max(x, y) == IF x > y THEN x ELSE y

Record(c) == IF side[c] = "new" THEN newer ELSE log[Len(log)]
IsHolder(c) == Record(c).owner = c /\ Record(c).until > now
IsFree(c) == Record(c).owner = Nobody \/ Record(c).until <= now
Believes(c) == state[c] = "held" /\ now < deadline[c]

\* A script has written.
Write(c, record) ==
    /\ IF side[c] = "new"
       THEN newer' = record /\ UNCHANGED log
       ELSE log' = Append(log, record) /\ Len(log) <= Writes /\ UNCHANGED newer
    /\ UNCHANGED <<now, received, promoted, side>>

\* The write for whose acks the client waits; 0: one of the new master.
Question(c, acks) ==
    asked' = [asked EXCEPT ![c] = [write |-> IF side[c] = "new" THEN 0 ELSE Len(log) + 1, until |-> now + Lease, acks |-> acks]]

\* acquire.lua and WAIT on the same connection. Also the claim of a waiter that was granted.
Acquire(c) ==
    /\ state[c] \in {"idle", "waiting"}
    /\ asked[c] = Nothing
    /\ IF IsFree(c) \/ IsHolder(c)
       THEN /\ Write(c, [Record(c) EXCEPT !.owner = c, !.until = Max(IF IsHolder(c) THEN @ ELSE 0, now + Lease),
                                          !.waiter = IF @ = c THEN Nobody ELSE @])
            /\ Question(c, AcquireAcks)
            /\ UNCHANGED <<state, deadline>>
       ELSE /\ Record(c).waiter = Nobody
            /\ Write(c, [Record(c) EXCEPT !.waiter = c])
            /\ state' = [state EXCEPT ![c] = "waiting"]
            /\ UNCHANGED <<deadline, asked>>

\* renew.lua and WAIT. Where the store says no, the hold is lost.
Renew(c) ==
    /\ Believes(c)
    /\ asked[c] = Nothing
    /\ IF IsHolder(c)
       THEN /\ Write(c, [Record(c) EXCEPT !.until = Max(@, now + Lease)])
            /\ Question(c, RenewAcks)
            /\ UNCHANGED <<state, deadline>>
       ELSE /\ state' = [state EXCEPT ![c] = "idle"]
            /\ UNCHANGED <<now, log, received, newer, promoted, side, deadline, asked>>

HasAcks(question) ==
    question.write = 0 \/ Cardinality({r \in Replicas : received[r] >= question.write}) >= question.acks

\* Enough replicas have the write: the deadline of the holder advances, counted from before the question.
Answer(c) ==
    LET question == asked[c]
    IN  /\ question # Nothing
        /\ HasAcks(question)
        /\ asked' = [asked EXCEPT ![c] = Nothing]
        /\ state' = [state EXCEPT ![c] = "held"]
        /\ deadline' = [deadline EXCEPT ![c] = Max(@, question.until)]
        /\ UNCHANGED <<now, log, received, newer, promoted, side>>

\* The acks have not come in time: the client releases, whether that arrives or not, or goes on with what it has.
GiveUp(c) ==
    /\ asked[c] # Nothing
    /\ asked' = [asked EXCEPT ![c] = Nothing]
    /\ UNCHANGED <<now, log, received, newer, promoted, side, state, deadline>>

\* release.lua. It grants the lock to the waiter, who hears of it at once or never.
Release(c) ==
    /\ Believes(c)
    /\ asked[c] = Nothing
    /\ IsHolder(c)
    /\ LET next == Record(c).waiter
           hears == next # Nobody /\ ~ClaimFirst /\ state[next] = "waiting" /\ side[next] = side[c]
       IN  /\ Write(c, [owner |-> next, until |-> now + GrantTime, waiter |-> Nobody])
           /\ \E heard \in {FALSE, hears} :
                /\ state' = [d \in Clients |->
                        IF d = c THEN "idle" ELSE IF heard /\ d = next THEN "held" ELSE state[d]]
                /\ deadline' = [d \in Clients |->
                        IF d = c THEN 0 ELSE IF heard /\ d = next THEN now + GrantTime ELSE deadline[d]]
    /\ UNCHANGED asked

Expire(c) ==
    /\ state[c] = "held"
    /\ now >= deadline[c]
    /\ state' = [state EXCEPT ![c] = "idle"]
    /\ deadline' = [deadline EXCEPT ![c] = 0]
    /\ asked' = [asked EXCEPT ![c] = Nothing]
    /\ UNCHANGED <<now, log, received, newer, promoted, side>>

\* The next write reaches a replica.
Replicate(r) ==
    /\ ~promoted
    /\ received[r] < Len(log)
    /\ received' = [received EXCEPT ![r] = @ + 1]
    /\ UNCHANGED <<now, log, newer, promoted, side, state, deadline, asked>>

\* A replica becomes the master with the writes that it has. No replica hears of the old master any more.
Promote(r) ==
    /\ ~promoted
    /\ promoted' = TRUE
    /\ newer' = log[received[r]]
    /\ UNCHANGED <<now, log, received, side, state, deadline, asked>>

\* A client finds the new master. Those that never do are isolated with the old one, or it is dead and they get no answer.
Move(c) ==
    /\ promoted
    /\ side[c] = "old"
    /\ side' = [side EXCEPT ![c] = "new"]
    /\ UNCHANGED <<now, log, received, newer, promoted, state, deadline, asked>>

Tick ==
    /\ now < LastTime
    /\ now' = now + 1
    /\ UNCHANGED <<log, received, newer, promoted, side, state, deadline, asked>>

Init ==
    /\ now = 0
    /\ log = <<Free>>
    /\ received = [r \in Replicas |-> 1]
    /\ newer = Free
    /\ promoted = FALSE
    /\ side = [c \in Clients |-> "old"]
    /\ state = [c \in Clients |-> "idle"]
    /\ deadline = [c \in Clients |-> 0]
    /\ asked = [c \in Clients |-> Nothing]

Next ==
    \/ \E c \in Clients : Acquire(c) \/ Renew(c) \/ Answer(c) \/ GiveUp(c) \/ Release(c) \/ Expire(c) \/ Move(c)
    \/ \E r \in Replicas : Replicate(r) \/ Promote(r)
    \/ Tick

Spec == Init /\ [][Next]_vars

(* What can still make a difference: after a failover no replica receives anything, and what the old master has written
   before its last write does not matter. *)
View ==
    IF promoted
    THEN <<now, newer, side, state, deadline,
           IF \E c \in Clients : side[c] = "old" THEN <<Len(log), log[Len(log)]>> ELSE <<>>,
           [c \in Clients |-> <<asked[c] # Nothing, asked[c].until, asked[c] # Nothing /\ HasAcks(asked[c])>>]>>
    ELSE vars

Symmetry == Permutations(Clients) \cup Permutations(Replicas)

TypeOK ==
    /\ now \in 0 .. LastTime
    /\ \A r \in Replicas : received[r] \in 1 .. Len(log)
    /\ newer.owner \in Clients \cup {Nobody}
    /\ \A c \in Clients : state[c] \in {"idle", "waiting", "held"} /\ deadline[c] \in 0 .. LastTime + Lease

\* At most one client believes that it holds the lock.
Mutex == Cardinality({c \in Clients : Believes(c)}) <= 1
=============================================================================
