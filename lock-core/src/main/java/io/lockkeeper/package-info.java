/* SPDX-License-Identifier: Apache-2.0 */
/** What users lock with: requests, leases, the template and the ways in which locking can fail. */
@NullMarked
package io.lockkeeper;

import org.jspecify.annotations.NullMarked;
