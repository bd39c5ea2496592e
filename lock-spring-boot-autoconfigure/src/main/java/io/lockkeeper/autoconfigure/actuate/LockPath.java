/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.actuate;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.actuate.endpoint.EndpointId;
import org.springframework.boot.actuate.endpoint.web.PathMappedEndpoints;
import org.springframework.http.HttpHeaders;
import org.springframework.http.MediaType;
import org.springframework.http.server.PathContainer;
import org.springframework.http.server.RequestPath;
import org.springframework.http.server.reactive.ServerHttpRequest;
import org.springframework.util.StringUtils;
import org.springframework.web.context.request.RequestAttributes;
import org.springframework.web.context.request.RequestContextHolder;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.WebFilter;
import org.springframework.web.server.WebFilterChain;
import org.springframework.web.util.ServletRequestPathUtils;
import org.springframework.web.util.UriComponentsBuilder;
import org.springframework.web.util.UriUtils;
import reactor.core.publisher.Mono;

/** The name of a lock in the path of a request: Spring Boot drops empty parts and what follows a semicolon. */
final class LockPath {

    private static final String PATTERN = "org.springframework.web.servlet.HandlerMapping.bestMatchingPattern";

    private LockPath() {}

    /** Returns the name in the path of the servlet request of this thread; without one, its segments joined. */
    static String exactName(String... segments) {
        RequestAttributes request = RequestContextHolder.getRequestAttributes();
        if (request == null) {
            return String.join("/", segments);
        }
        // The pattern ends with that of all remaining segments.
        String exact = request.getAttribute(ServletRequestPathUtils.PATH_ATTRIBUTE, RequestAttributes.SCOPE_REQUEST)
                                instanceof RequestPath path
                        && request.getAttribute(PATTERN, RequestAttributes.SCOPE_REQUEST) instanceof String pattern
                ? nameAfter(pattern.substring(0, pattern.lastIndexOf('/')), path.pathWithinApplication())
                : null;
        if (exact == null) {
            // Never the segments, which may be the name of another lock; Jersey keeps nothing else.
            throw LocksEndpoint.refused(
                    "The name of a lock cannot be read from this path: give it as the parameter name");
        }
        return exact;
    }

    /** Returns the name that follows the path of the endpoint; null: the request is not for one lock of it. */
    static @Nullable String nameAfter(String endpoint, PathContainer request) {
        String[] expected = StringUtils.tokenizeToStringArray(endpoint, "/");
        int known = 0;
        StringBuilder name = null;
        for (PathContainer.Element element : request.elements()) {
            if (name != null) {
                name.append(element.value());
            } else if (known == expected.length) {
                name = new StringBuilder();
            } else if (element instanceof PathContainer.PathSegment segment) {
                // As the endpoint is found: decoded, and without what follows a semicolon.
                if (!segment.valueToMatch().equals(expected[known++])) {
                    return null;
                }
            }
        }
        return name == null ? null : UriUtils.decode(name.toString(), StandardCharsets.UTF_8);
    }

    /** Makes a parameter of a name that Spring Boot would not keep: {@code /a//b} becomes {@code ?name=a//b}. */
    record ReactiveFilter(ObjectProvider<PathMappedEndpoints> endpoints) implements WebFilter {

        private static final EndpointId LOCKS = EndpointId.of("locks");

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
            if (endpoint == null || name == null) {
                return exchange;
            }
            String root =
                    request.getPath().contextPath().value() + UriUtils.encodePath(endpoint, StandardCharsets.UTF_8);
            return exchange.mutate()
                    .request(request.mutate()
                            .headers(LockPath.ReactiveFilter::withoutPage)
                            .uri(UriComponentsBuilder.fromUri(request.getURI())
                                    .replacePath(root)
                                    .replaceQueryParam("name", UriUtils.encode(name, StandardCharsets.UTF_8))
                                    .build(true)
                                    .toUri())
                            .build())
                    .build();
        }

        private static void withoutPage(HttpHeaders headers) {
            List<MediaType> accepted = new ArrayList<>(headers.getAccept());
            if (accepted.removeIf(type -> type.isCompatibleWith(MediaType.TEXT_HTML) && !type.isWildcardType())) {
                headers.setAccept(accepted.isEmpty() ? List.of(MediaType.ALL) : accepted);
            }
        }
    }
}
