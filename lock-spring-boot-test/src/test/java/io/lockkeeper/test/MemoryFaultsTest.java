package io.lockkeeper.test;

import org.springframework.test.context.TestPropertySource;

@TestPropertySource(properties = "lockkeeper.store=memory")
class MemoryFaultsTest extends ApplicationFaults {}
