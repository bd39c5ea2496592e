/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.time.Instant;

/**
 * A process that holds a lock or waits for one, as it described itself.
 *
 * @param id the instance's own id, unique for each start
 * @param application the application's name; the id where it is unknown
 * @param host the host's name; empty where it is unknown
 * @param pid the process id on that host; 0 where it is unknown
 * @param since when the instance started to use locks
 */
public record LockInstance(String id, String application, String host, long pid, Instant since) {}
