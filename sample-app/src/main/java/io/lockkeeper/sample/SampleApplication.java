/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.sample;

import io.lockkeeper.sample.servers.ServerHost;
import io.lockkeeper.sample.servers.SharedServers;
import java.io.IOException;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.scheduling.annotation.EnableScheduling;

/** A flash-sale shop. Start it twice, with different ports: the instances sell the same stock. */
@SpringBootApplication
@EnableScheduling
@EnableConfigurationProperties(ShopProperties.class)
public class SampleApplication {

    /**
     * Starts an instance of the shop, or the process that hosts the servers which the instances share.
     *
     * @param args properties of the instance, such as {@code --server.port=8081}
     * @throws IOException if the host of the servers cannot write its folder
     */
    public static void main(String[] args) throws IOException {
        if (ServerHost.isMeantBy(args)) {
            ServerHost.run(args);
        } else {
            start(args);
        }
    }

    static ConfigurableApplicationContext start(String... args) {
        SpringApplication application = new SpringApplication(SampleApplication.class);
        application.addInitializers(new SharedServers(SampleApplication.class));
        return application.run(args);
    }
}
