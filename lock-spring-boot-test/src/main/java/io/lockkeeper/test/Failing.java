package io.lockkeeper.test;

/** What does not work of a store. */
enum Failing {
    EVERYTHING,
    EVERYTHING_IN_SILENCE,
    RENEWALS
}
