package io.lockkeeper.store;

/**
 * Ends the hold of one attempt and asks for the lock again for the next one of the same client: whoever else waits comes
 * first; where nobody does, the next attempt holds the lock at once. Repeating the command is harmless.
 *
 * @param attempt the attempt that holds the lock
 * @param lastToken the last of its reserved fencing tokens that was really used
 * @param next what the next attempt asks for
 */
public record HandOverCommand(String attempt, long lastToken, AcquireCommand next) {}
