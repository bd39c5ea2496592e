/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.sample.board;

import org.springframework.boot.web.servlet.ServletRegistrationBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** The stream of events at its address. */
@Configuration(proxyBeanMethods = false)
class BoardConfiguration {

    @Bean
    EventStream eventStream() {
        return new EventStream();
    }

    @Bean
    ServletRegistrationBean<EventStream> eventStreamRegistration(EventStream stream) {
        return new ServletRegistrationBean<>(stream, "/events");
    }
}
