---------------------------- MODULE ExclusiveLock ----------------------------
(* One exclusive lock in one Redis that loses no data, and the clients that want it. README.md tells what is modelled,
   what is not, and how to run it.

   Time is counted in ticks and relative to the present, so that there is no last moment: a duration counts down until it
   is 0, an age counts up until it says nothing more. Every number that belongs to the server counts with the server's
   clock, every number of a client with that client's clock. A tick stands for many milliseconds: what happens between
   two ticks has an order, but the same time.

   A tuple <<client, number>> is an attempt: engine/AcquireAttempt. What a local lock does within its JVM is not modelled: an
   attempt has one caller. *)
EXTENDS Integers, Sequences, FiniteSets, TLC

CONSTANTS
    Clients,     \* instances of the application
    Attempts,    \* how many attempts each of them makes
    Lease,       \* Claim.leaseMillis
    GrantTime,   \* StoreTraits.grantTime
    Timeout,     \* StoreTraits.commandTimeout
    Alive,       \* Arguments.aliveMillis
    Margin,      \* Claim.marginMillis
    Drift,       \* how many ticks a client's clock gains on the server's, or loses again, in all
    Leaving,     \* whether callers are cancelled, time out, or hear that the store fails
    Flight,      \* how many messages are on their way at most
    Copies,      \* how many commands arrive once more, in all
    Copied,      \* which kinds of them: acquire, renew, release
    Crashes,     \* how many clients crash
    Holds,       \* how often the lock is given to somebody, in all; bounds the search
    Held,        \* whether a stranger, who has crashed, holds the lock at the beginning
    Gaps,        \* what the search goes through although NoGhost does not hold there: LateRenewal
    SteadyClock, \* whether the server's clock in microseconds is always ahead of the tokens that were given
    Prompt,      \* whether messages arrive before the next tick and none is lost: for the liveness properties
    Mutant       \* a fault that is built in; "none"

VARIABLES
    record,   \* the lock record: record.lua
    issued,   \* the highest token that the server ever gave
    net,      \* the messages on their way: commands to the server, its answers, its grants
    attempt,  \* what each attempt knows
    up,       \* the clients that run
    pending,  \* releases that are due or will be, after a while
    skew,     \* how far a client's clock has gained on the server's since the beginning
    copies,   \* how many copies may still be made
    latest,   \* the token of the latest holder that began to believe
    ordered   \* whether the tokens of holders rose so far

vars == <<record, issued, net, attempt, up, pending, skew, copies, latest, ordered>>

------------------------------------------------------------------------------

Nobody == <<"nobody", 0>>
Stranger == <<"stranger", 0>>
Ids == Clients \X (1 .. Attempts)
ClientOf(a) == a[1]

Max(x, y) == IF x > y THEN x ELSE y
Min(x, y) == IF x < y THEN x ELSE y

LongAgo == -(Timeout + 1)           \* a server time before which all are the same: commands sent then are late
NoSample == -1 - Drift              \* no sample of the server's clock
Again == Timeout + 1 + Drift        \* when the second release of an abandoned attempt is due: after the last arrival

Unborn == [state |-> "new", left |-> 0, travel |-> NoSample, token |-> 0, horizon |-> 0]

\* One that waits or holds, as far as its own client knows.
Waits(a) == attempt[a].state \in {"asking", "queued"}
Lives(a) == attempt[a].state \in {"asking", "queued", "held"}
Believes(a) == attempt[a].state = "held" /\ attempt[a].left > 0

Room(messages) == Cardinality(messages) <= Flight

------------------------------------------------------------------------------
(* The parts of record.lua. The server's clock shows 0: until and alive of the future are above it, since is not. *)

IsHolder(r, a) == r.owner = a /\ r.until > 0

HasPlace(r, a) == \E i \in 1 .. Len(r.queue) : r.queue[i].attempt = a

Without(queue, a) == SelectSeq(queue, LAMBDA w : w.attempt # a)

Enqueue(r, a) ==
    IF HasPlace(r, a)
    THEN [r EXCEPT !.queue = [i \in 1 .. Len(@) |-> IF @[i].attempt = a THEN [@[i] EXCEPT !.alive = Alive] ELSE @[i]]]
    ELSE [r EXCEPT !.queue = Append(@, [attempt |-> a, alive |-> Alive])]

\* end_lapsed_holds, and forget_client where nobody confirmed a grant. Tick has set since at the end.
EndLapsedHold(r) ==
    IF r.owner = Nobody \/ r.until > 0
    THEN r
    ELSE [r EXCEPT !.owner = Nobody, !.granted = FALSE,
                   !.queue = IF r.granted THEN SelectSeq(@, LAMBDA w : ClientOf(w.attempt) # ClientOf(r.owner)) ELSE @]

\* first_live: the record without the dead waiters at the head of its queue, who left when they were last alive.
RECURSIVE FromFirstLive(_)
FromFirstLive(r) ==
    IF r.queue # <<>> /\ Head(r.queue).alive < 0
    THEN FromFirstLive([r EXCEPT !.queue = Tail(@), !.since = Max(@, Head(r.queue).alive)])
    ELSE r

NextToken(r) == Max(r.token + 1, IF SteadyClock THEN issued + 1 ELSE 0)

Own(r, a, duration, granted) ==
    [r EXCEPT !.owner = a, !.until = duration, !.granted = granted, !.since = 0, !.token = NextToken(r),
              !.queue = Without(@, a)]

\* serve: makes the first live waiter the owner, unless that is a given attempt. Its second part is the grant, published.
Serve(r, stopAt) ==
    LET live == FromFirstLive(r)
        head == Head(live.queue).attempt
        served == Own(live, head, GrantTime, TRUE)
    IN  IF r.owner = Nobody /\ live.queue # <<>> /\ head # stopAt
        THEN <<served, {[kind |-> "grant", attempt |-> head, token |-> served.token, until |-> GrantTime]}>>
        ELSE <<live, {}>>

------------------------------------------------------------------------------
(* The scripts, as functions of the record and a command: the new record and what is sent. acquire-fast.lua and
   release-fast.lua, which are put in front of acquire.lua and release.lua, do the same in the frequent cases. *)

Acquired(m, lease, token) ==
    [kind |-> "acquired", attempt |-> m.attempt, age |-> m.age, lease |-> lease, token |-> token]

\* acquire.lua, for one lock and an attempt that queues; also the poll of a waiter, and the claim of a granted one.
AcquireScript(r, m) ==
    LET a == m.attempt
        notAfter == m.sent + Timeout
        holds == IsHolder(r, a)
        live == FromFirstLive(EndLapsedHold(r))
        between == IF Mutant = "SameMomentTrusted" THEN live.since > m.sent ELSE live.since >= m.sent
        doubtful == between /\ Mutant \notin {"NoNotAfter", "NoDoubt"}
        lease == IF doubtful THEN Min(Lease, notAfter) ELSE Lease
        tooShort == 4 * lease < 3 * Min(Lease, Timeout)
        kept == IF Mutant = "RepeatKeepsEnd" THEN r.until ELSE Max(r.until, lease)
        served == Serve(live, a)
        s == served[1]
        blocked == s.owner # Nobody \/ (s.queue # <<>> /\ Head(s.queue).attempt # a)
        owned == Own(s, a, lease, FALSE)
    IN  CASE notAfter < 0 /\ Mutant # "NoNotAfter" -> <<r, {}>>   \* LATE
          [] r.previous = a /\ Mutant # "NoEnded" -> <<r, {[kind |-> "ended", attempt |-> a]}>>
          [] tooShort /\ (holds \/ ~blocked) -> served   \* LATE
          [] holds -> <<[s EXCEPT !.until = kept, !.granted = FALSE], {Acquired(m, lease, s.token)}>>
          [] blocked -> <<Enqueue(s, a), served[2] \cup {[kind |-> "queued", attempt |-> a, travel |-> m.age]}>>
          [] OTHER -> <<owned, {Acquired(m, lease, owned.token)}>>

\* renew.lua, for one lock.
RenewScript(r, m) ==
    LET held == IF Mutant = "RenewalRevives" THEN r.owner = m.attempt ELSE IsHolder(r, m.attempt)
    IN  <<IF held THEN [r EXCEPT !.until = Max(@, Lease), !.granted = FALSE] ELSE r,
          {[kind |-> "renewed", attempt |-> m.attempt, age |-> m.age, held |-> held]}>>

\* release.lua, for one lock; also the cancellation of a wait. take_back: a hold has one token here, which is its first.
ReleaseScript(r, p) ==
    LET a == p.attempt
        left == [r EXCEPT !.queue = Without(@, a), !.since = 0]
        ended == [r EXCEPT !.owner = Nobody, !.until = 0, !.granted = FALSE, !.previous = a, !.since = 0,
                           !.token = IF p.token = @ - 1 THEN p.token ELSE @]
    IN  CASE r.owner = a -> Serve(ended, Nobody)
          [] r.owner # a /\ HasPlace(r, a) -> Serve(EndLapsedHold(left), Nobody)
          [] OTHER -> <<r, {}>>

IsCommand(m) == m.kind \in {"acquire", "renew"}

(* An attempt that its client has ended holds the lock, and no release is due. (A lost or crashed attempt holds it for
   what is left of its lease.) *)
IsGhost(a) ==
    /\ IsHolder(record, a)
    /\ attempt[a].state \in {"released", "left"}
    /\ \A p \in pending : p.attempt # a

CopiesOf(kind) == {0} \cup IF copies > 0 /\ kind \in Copied THEN {1} ELSE {}

(* A script has run, and a number of copies was made of its command: where a client library sends it again, or a network
   repeats it, it arrives once more. What the script sent may be lost. *)
Run(result, others, made) ==
    /\ record' = result[1]
    /\ issued' = Max(issued, result[1].token)
    /\ copies' = copies - made
    /\ \E sent \in SUBSET result[2] :
        /\ Prompt => sent = result[2]
        /\ net' = others \cup sent
    /\ Room(net')
    /\ UNCHANGED <<up, skew, latest, ordered>>

Arrive(m) ==
    /\ IsCommand(m)
    /\ m.kind = "renew" /\ IsGhost(m.attempt) => "LateRenewal" \in Gaps
    /\ \E made \in CopiesOf(m.kind) :
        Run(IF m.kind = "acquire" THEN AcquireScript(record, m) ELSE RenewScript(record, m),
            IF made = 1 THEN net ELSE net \ {m}, made)
    /\ UNCHANGED <<attempt, pending>>

(* ActionExecutor.Ending: a release that is due is sent until the store has answered. One step stands
   for all of it, because nothing depends on when it was sent. Where the store knows nothing of the attempt any more, its
   hold had lapsed: the caller is told LOST, and ActionExecutor.releaseAgain releases once more when nothing that was sent can
   arrive any more. *)
ReleaseArrives(p) ==
    LET unknown == p.token > 0 /\ record.owner # p.attempt /\ record.previous # p.attempt
        again == IF unknown /\ Mutant # "ReleasedOnce" THEN {[attempt |-> p.attempt, token |-> 0, wait |-> Again]} ELSE {}
    IN  /\ p.wait = 0
        /\ UNCHANGED attempt
        /\ \E made \in CopiesOf("release") :
            /\ Run(ReleaseScript(record, p), net, made)
            /\ pending' = again \cup (IF made = 1 THEN pending ELSE pending \ {p})

------------------------------------------------------------------------------
(* The client. *)

Set(a, state) == attempt' = [attempt EXCEPT ![a].state = state, ![a].left = 0, ![a].travel = NoSample, ![a].token = 0]

\* ActionExecutor.cancel: releases at once, and again when nothing that was sent can arrive any more.
Abandonment(a) ==
    {[attempt |-> a, token |-> 0, wait |-> 0]}
        \cup IF Mutant = "AbandonedOnce" THEN {} ELSE {[attempt |-> a, token |-> 0, wait |-> Again]}

Abandon(a) ==
    /\ Set(a, "left")
    /\ pending' = pending \cup Abandonment(a)

\* ActionExecutor.ask -> RedisSession.eval -> Arguments.acquire. ServerClock knows the time exactly: see README.md.
Ask(a, state) ==
    /\ net' = net \cup {[kind |-> "acquire", attempt |-> a, sent |-> 0, age |-> 0]}
    /\ Room(net')
    /\ attempt' = [attempt EXCEPT ![a].state = state, ![a].horizon = Timeout]

\* LocalLock.ask: the first question of a new attempt.
Begin(a) ==
    /\ ClientOf(a) \in up
    /\ attempt[a].state = "new"
    /\ \A n \in 1 .. a[2] - 1 : ~Lives(<<ClientOf(a), n>>) /\ attempt[<<ClientOf(a), n>>].state # "new"
    /\ Ask(a, "asking")
    /\ UNCHANGED <<record, issued, up, pending, skew, copies, latest, ordered>>

\* Whether the store has what a waiting attempt needs until the next tick: only for Prompt.
IsSettled(a) == HasPlace(record, a) /\ \A i \in 1 .. Len(record.queue) : record.queue[i].attempt = a => record.queue[i].alive > 0

\* LocalLock.due, LocalLock.messagesMissed; also the claim of a grant in LocalLock.granted.
Poll(a) ==
    /\ attempt[a].state = "queued"
    /\ Prompt => net = {} /\ ~IsSettled(a)
    /\ Ask(a, "queued")
    /\ UNCHANGED <<record, issued, up, pending, skew, copies, latest, ordered>>

\* LocalLock.failed: no answer within the command timeout.
Fail(a) ==
    /\ attempt[a].state = "asking"
    /\ Leaving
    /\ Abandon(a)
    /\ UNCHANGED <<record, issued, net, up, skew, copies, latest, ordered>>

\* LocalLock.left, LocalLock.timedOut -> LocalLock.giveUpUnneededPlace: the caller is cancelled, or its time is up.
Cancel(a) ==
    /\ attempt[a].state = "queued"
    /\ Leaving
    /\ Abandon(a)
    /\ UNCHANGED <<record, issued, net, up, skew, copies, latest, ordered>>

\* LeaseRenewer.renew: as soon as a part of the lease is over, or a grant is to be extended.
Renew(a) ==
    /\ Believes(a)
    /\ attempt[a].left < Lease - Margin
    /\ Prompt => net = {} /\ attempt[a].left = 1
    /\ net' = net \cup {[kind |-> "renew", attempt |-> a, age |-> 0]}
    /\ Room(net')
    /\ UNCHANGED <<record, issued, attempt, up, pending, skew, copies, latest, ordered>>

\* LocalLock.released -> ActionExecutor.release.
Release(a) ==
    /\ Believes(a)
    /\ Set(a, "released")
    /\ pending' = pending \cup {[attempt |-> a, token |-> attempt[a].token, wait |-> 0]}
    /\ UNCHANGED <<record, issued, net, up, skew, copies, latest, ordered>>

\* Leases.lose, whose release is sent once and never again.
Lose(a) ==
    /\ attempt' = [attempt EXCEPT ![a] = [Unborn EXCEPT !.state = "lost"]]
    /\ pending' \in {pending, pending \cup {[attempt |-> a, token |-> 0, wait |-> 0]}}

\* StoreHold.isExpired, ManagedLease.isHeld: the deadline has passed.
Expire(a) ==
    /\ attempt[a].state = "held"
    /\ attempt[a].left = 0
    /\ Lose(a)
    /\ UNCHANGED <<record, issued, net, up, skew, copies, latest, ordered>>

\* LeasePolicy.hold for an answer, LeaseRenewer.renewed: counted from before the question was sent, less a margin.
LeftAfter(m, lease, mutant) == lease - Margin - IF Mutant = mutant THEN 0 ELSE m.age

\* LeasePolicy.hold for a grant, AcquireAttempt.State.Queued.localTimeOf: the server's time of the end, told in local time by a sample.
LeftOfGrant(m) ==
    IF Mutant = "GrantWithoutSample"
    THEN GrantTime - Margin
    ELSE m.until - attempt[m.attempt].travel - Margin

\* LocalLock.begin.
Believe(a, left, token) ==
    /\ attempt' = [attempt EXCEPT ![a].state = "held", ![a].left = left, ![a].travel = NoSample, ![a].token = token]
    /\ ordered' = (ordered /\ token > latest)
    /\ latest' = Max(latest, token)
    /\ UNCHANGED pending

\* LocalLock.begin where no caller waits any more: the tokens were not used.
GiveBack(a, token) ==
    /\ Set(a, "released")
    /\ pending' = pending \cup {[attempt |-> a, token |-> token - 1, wait |-> 0]}
    /\ UNCHANGED <<latest, ordered>>

\* LocalLock.replied and LocalLock.repliedAfterTheEnd.
ReceiveAcquired(m) ==
    LET a == m.attempt
        left == LeftAfter(m, m.lease, "DeadlineFromArrival")
    IN  /\ m.kind = "acquired"
        /\ net' = net \ {m}
        /\ \/ Waits(a) /\ left > 0 /\ Believe(a, left, m.token)
           \/ Waits(a) /\ left > 0 /\ GiveBack(a, m.token)
           \/ Waits(a) /\ left <= 0 /\ Abandon(a) /\ UNCHANGED <<latest, ordered>>
           \/ /\ attempt[a].state = "held"
              /\ attempt' = [attempt EXCEPT ![a].left = Max(@, left)]
              /\ UNCHANGED <<pending, latest, ordered>>
           \/ ~Lives(a) /\ pending' = pending \cup Abandonment(a) /\ UNCHANGED <<attempt, latest, ordered>>
        /\ UNCHANGED <<record, issued, up, skew, copies>>

\* LocalLock.queued; LocalLock.repliedAfterTheEnd.
ReceiveQueued(m) ==
    LET a == m.attempt
    IN  /\ m.kind = "queued"
        /\ net' = net \ {m}
        /\ attempt' = IF Waits(a) THEN [attempt EXCEPT ![a].state = "queued", ![a].travel = m.travel] ELSE attempt
        /\ pending' = IF Lives(a) THEN pending ELSE pending \cup Abandonment(a)
        /\ UNCHANGED <<record, issued, up, skew, copies, latest, ordered>>

\* LocalLock.replied -> LocalLock.startOver.
ReceiveEnded(m) ==
    /\ m.kind = "ended"
    /\ net' = net \ {m}
    /\ IF Waits(m.attempt) THEN Set(m.attempt, "lost") ELSE UNCHANGED attempt
    /\ UNCHANGED <<record, issued, up, pending, skew, copies, latest, ordered>>

\* LocalLock.granted. A grant that overtook the answer waits (AcquireAttempt.grant).
\* A waiter may always do nothing, which is to claim first: Poll.
ReceiveGrant(m) ==
    LET a == m.attempt
    IN  /\ m.kind = "grant"
        /\ attempt[a].state # "asking"
        /\ net' = net \ {m}
        /\ \/ attempt[a].state = "queued" /\ LeftOfGrant(m) > 0 /\ Believe(a, LeftOfGrant(m), m.token)
           \/ attempt[a].state \in {"queued", "held"} /\ UNCHANGED <<attempt, pending, latest, ordered>>
           \/ /\ ~Lives(a)
              /\ LET used == IF Mutant = "GrantTakesBack" THEN m.token - 1 ELSE 0
                 IN  pending' = pending \cup {[attempt |-> a, token |-> used, wait |-> 0]}
              /\ UNCHANGED <<attempt, latest, ordered>>
        /\ UNCHANGED <<record, issued, up, skew, copies>>

\* LeaseRenewer.renewed.
ReceiveRenewed(m) ==
    LET a == m.attempt
        left == LeftAfter(m, Lease, "RenewedFromArrival")
    IN  /\ m.kind = "renewed"
        /\ net' = net \ {m}
        /\ \/ attempt[a].state # "held" /\ UNCHANGED <<attempt, pending>>
           \/ /\ attempt[a].state = "held" /\ m.held
              /\ attempt' = [attempt EXCEPT ![a].left = Max(@, left)]
              /\ UNCHANGED pending
           \/ attempt[a].state = "held" /\ ~m.held /\ Lose(a)
        /\ UNCHANGED <<record, issued, up, skew, copies, latest, ordered>>

Receive(m) == ReceiveAcquired(m) \/ ReceiveQueued(m) \/ ReceiveEnded(m) \/ ReceiveGrant(m) \/ ReceiveRenewed(m)

------------------------------------------------------------------------------
(* What happens to everybody. *)

\* A process ends without warning. Its commands are on their way still.
Crash(c) ==
    /\ c \in up
    /\ Cardinality(Clients \ up) < Crashes
    /\ up' = up \ {c}
    /\ attempt' = [a \in Ids |-> IF ClientOf(a) = c
                                 THEN [attempt[a] EXCEPT !.state = "crashed", !.left = 0, !.travel = NoSample, !.token = 0]
                                 ELSE attempt[a]]
    /\ net' = {m \in net : IsCommand(m) \/ ClientOf(m.attempt) # c}
    /\ pending' = {p \in pending : ClientOf(p.attempt) # c}
    /\ UNCHANGED <<record, issued, skew, copies, latest, ordered>>

\* A connection breaks, or a message is published while nobody listens.
Drop(m) ==
    /\ ~Prompt
    /\ net' = net \ {m}
    /\ UNCHANGED <<record, issued, attempt, up, pending, skew, copies, latest, ordered>>

\* How a message ages: by the server's clock (server: 0 or 1) and by the clock of its client (client: 0 or 1).
Aged(m, server, client) ==
    CASE m.kind = "acquire" -> [m EXCEPT !.sent = Max(LongAgo, @ - server), !.age = Min(Lease, @ + client)]
      [] m.kind \in {"acquired", "renew", "renewed"} -> [m EXCEPT !.age = Min(Lease, @ + client)]
      [] m.kind = "queued" -> [m EXCEPT !.travel = @ + client - server]
      [] m.kind = "grant" -> [m EXCEPT !.until = Max(0, @ - server)]
      [] OTHER -> m

\* A command that is late does nothing when it arrives.
IsLate(m) == m.kind = "acquire" /\ m.sent = LongAgo /\ Mutant # "NoNotAfter"

\* All clocks go on, but for those that may lag.
Tick ==
    /\ Prompt => net = {} /\ pending = {p \in pending : p.wait > 0}
    /\ Prompt => \A a \in Ids : attempt[a].state = "queued" => IsSettled(a)
    /\ \E moving \in SUBSET Clients, server \in {0, 1} :
        LET step(c) == IF c \in moving THEN 1 ELSE 0
        IN  /\ \A c \in Clients : skew[c] + step(c) - server \in 0 .. Drift
            /\ moving # {} \/ server = 1
            /\ skew' = [c \in Clients |-> skew[c] + step(c) - server]
            /\ record' = [record EXCEPT
                    !.until = Max(0, @ - server),
                    !.since = IF server = 1 /\ record.until = 1 THEN 0 ELSE Max(LongAgo, @ - server),
                    !.queue = [i \in 1 .. Len(@) |-> [@[i] EXCEPT !.alive = Max(LongAgo, @ - server)]]]
            /\ net' = {m \in {Aged(m, server, step(ClientOf(m.attempt))) : m \in net} : ~IsLate(m)}
            /\ attempt' = [a \in Ids |-> [attempt[a] EXCEPT
                    !.left = Max(0, @ - step(ClientOf(a))),
                    !.travel = IF @ = NoSample THEN @ ELSE @ + step(ClientOf(a)) - server,
                    !.horizon = Max(0, @ - server)]]
            /\ pending' = {[p EXCEPT !.wait = Max(0, @ - step(ClientOf(p.attempt)))] : p \in pending}
    /\ UNCHANGED <<issued, up, copies, latest, ordered>>

------------------------------------------------------------------------------

Init ==
    /\ record = [owner |-> IF Held THEN Stranger ELSE Nobody, until |-> IF Held THEN 1 ELSE 0, granted |-> FALSE,
                 previous |-> Nobody, since |-> LongAgo, token |-> 1, queue |-> <<>>]
    /\ issued = 1
    /\ net = {}
    /\ attempt = [a \in Ids |-> Unborn]
    /\ up = Clients
    /\ pending = {}
    /\ skew = [c \in Clients |-> 0]
    /\ copies = Copies
    /\ latest = 0
    /\ ordered = TRUE

Next ==
    \/ \E a \in Ids : Begin(a) \/ Poll(a) \/ Fail(a) \/ Cancel(a) \/ Renew(a) \/ Release(a) \/ Expire(a)
    \/ \E p \in pending : ReleaseArrives(p)
    \/ \E m \in net : Arrive(m) \/ Receive(m) \/ Drop(m)
    \/ \E c \in Clients : Crash(c)
    \/ Tick

Spec == Init /\ [][Next]_vars

\* Bodies end, clocks go on, and what is sent arrives.
FairSpec ==
    /\ Spec
    /\ \A a \in Ids : WF_vars(Poll(a)) /\ WF_vars(Release(a)) /\ WF_vars(Expire(a))
    /\ WF_vars(\E p \in pending : ReleaseArrives(p))
    /\ WF_vars(\E m \in net : Arrive(m) \/ Receive(m))
    /\ WF_vars(Tick)

Bounded == issued <= Holds + 1
Symmetry == Permutations(Clients)

(* What can still make a difference. The answer to an attempt that has ended is one however old it is; so is a renewal,
   which has no last moment. *)
Essential(m) ==
    IF Lives(m.attempt) \/ m.kind = "acquire"
    THEN m
    ELSE [kind |-> m.kind, attempt |-> m.attempt, token |-> IF m.kind = "grant" THEN m.token ELSE 0]

View == <<record, issued, {Essential(m) : m \in net}, Cardinality(net), attempt, up, pending, skew, copies, latest, ordered>>

------------------------------------------------------------------------------
(* What must be true. *)

TypeOK ==
    /\ record.owner \in Ids \cup {Nobody, Stranger}
    /\ record.previous \in Ids \cup {Nobody}
    /\ record.until \in 0 .. Max(Lease, GrantTime)
    /\ record.granted => record.owner # Nobody /\ record.until <= GrantTime
    /\ record.since \in LongAgo .. 0
    /\ record.token \in 0 .. issued
    /\ \A i \in 1 .. Len(record.queue) : record.queue[i].attempt \in Ids /\ record.queue[i].alive \in LongAgo .. Alive
    /\ Room(net)
    /\ \A a \in Ids :
        /\ attempt[a].state \in {"new", "asking", "queued", "held", "released", "left", "lost", "crashed"}
        /\ attempt[a].left \in 0 .. Lease
        /\ attempt[a].travel \in NoSample .. Lease + Drift
        /\ attempt[a].horizon \in 0 .. Timeout

\* At most one client believes that it holds the lock.
Mutex == Cardinality({a \in Ids : Believes(a)}) <= 1

\* The tokens of holders strictly increase in the order in which they begin to believe.
TokenOrder == ordered

QueueNoDuplicates == \A i, j \in 1 .. Len(record.queue) : i # j => record.queue[i].attempt # record.queue[j].attempt

(* An attempt that its client has ended holds the lock until a release that is due, or until the last moment at which one
   of its commands may arrive, or until its grant lapses. *)
NoGhost == \A a \in Ids : IsGhost(a) => record.granted \/ record.until <= attempt[a].horizon

\* Whoever waits is served, unless it leaves: one temporal property for each attempt.
Served == \A a \in Ids : attempt[a].state \in {"asking", "queued"} ~> attempt[a].state \notin {"asking", "queued"}

\* No owner stays that does not live.
GhostsGo == \A a \in Ids : record.owner = a /\ record.until > 0 /\ ~Lives(a) ~> ~(record.owner = a /\ record.until > 0)

=============================================================================
