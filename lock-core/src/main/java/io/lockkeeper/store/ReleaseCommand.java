package io.lockkeeper.store;

/**
 * Ends whatever an attempt has: its hold, or its place in the queue. Repeating the command is harmless.
 *
 * @param name the lock's name
 * @param attempt the attempt that ends
 * @param lastToken the last of its reserved fencing tokens that was really used; 0 where it never held the lock
 */
public record ReleaseCommand(String name, String attempt, long lastToken) {}
