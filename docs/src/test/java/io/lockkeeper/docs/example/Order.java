package io.lockkeeper.docs.example;

/** An order. */
public record Order(String id) {}
