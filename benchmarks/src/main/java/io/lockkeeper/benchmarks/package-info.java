/** Measurements with JMH. */
@NullMarked
package io.lockkeeper.benchmarks;

import org.jspecify.annotations.NullMarked;
