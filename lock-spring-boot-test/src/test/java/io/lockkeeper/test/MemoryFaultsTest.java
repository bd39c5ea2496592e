/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.test;

import org.springframework.test.context.TestPropertySource;

@TestPropertySource(properties = "lockkeeper.store=memory")
class MemoryFaultsTest extends ApplicationFaults {}
