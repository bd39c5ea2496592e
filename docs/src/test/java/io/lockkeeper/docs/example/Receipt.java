package io.lockkeeper.docs.example;

/** A receipt. */
public record Receipt(String order) {}
