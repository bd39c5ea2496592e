/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.actuate;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.actuate.endpoint.EndpointId;
import org.springframework.boot.actuate.endpoint.web.PathMappedEndpoints;
import org.springframework.http.server.reactive.ServerHttpRequest;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.WebFilter;
import org.springframework.web.server.WebFilterChain;
import org.springframework.web.util.UriComponentsBuilder;
import reactor.core.publisher.Mono;

/**
 * Makes a parameter of the name of a lock that stands in the path of a reactive request, where Spring Boot would not keep it
 * as it is: {@code /actuator/locks/a//b} becomes {@code /actuator/locks?name=a//b}.
 */
final class ReactiveLockPathFilter implements WebFilter {

    private static final EndpointId LOCKS = EndpointId.of("locks");

    private final ObjectProvider<PathMappedEndpoints> endpoints;

    ReactiveLockPathFilter(ObjectProvider<PathMappedEndpoints> endpoints) {
        this.endpoints = endpoints;
    }

    @Override
    public Mono<Void> filter(ServerWebExchange exchange, WebFilterChain chain) {
        String path = exchange.getRequest().getPath().value();
        boolean kept = !path.contains("//") && !path.endsWith("/") && !path.contains(";");
        return chain.filter(kept ? exchange : withName(exchange));
    }

    private ServerWebExchange withName(ServerWebExchange exchange) {
        ServerHttpRequest request = exchange.getRequest();
        PathMappedEndpoints mapped = endpoints.getIfAvailable();
        String endpoint = mapped == null ? null : mapped.getPath(LOCKS);
        String name = endpoint == null
                ? null
                : LockPath.nameAfter(endpoint, request.getPath().pathWithinApplication());
        if (name == null) {
            return exchange;
        }
        String root = request.getPath().contextPath().value() + endpoint;
        return exchange.mutate()
                .request(request.mutate()
                        .uri(UriComponentsBuilder.fromUri(request.getURI())
                                .replacePath(root)
                                .replaceQuery(null)
                                .queryParam("name", "{name}")
                                .encode()
                                .buildAndExpand(name)
                                .toUri())
                        .build())
                .build();
    }
}
