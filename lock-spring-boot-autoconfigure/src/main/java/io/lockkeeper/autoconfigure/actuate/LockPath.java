/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.actuate;

import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;
import org.springframework.http.server.PathContainer;
import org.springframework.http.server.RequestPath;
import org.springframework.web.context.request.RequestAttributes;
import org.springframework.web.context.request.RequestContextHolder;
import org.springframework.web.util.ServletRequestPathUtils;
import org.springframework.web.util.UriUtils;

/**
 * The name of a lock in the path of a request. Spring Boot splits a path at its slashes and drops empty parts and what follows
 * a semicolon, so that the name of another lock would be left.
 */
final class LockPath {

    private static final String PATTERN = "org.springframework.web.servlet.HandlerMapping.bestMatchingPattern";

    private LockPath() {}

    /**
     * Returns the name in the path of the servlet request that this thread serves.
     *
     * @param segments what Spring Boot made of it; it is the name where there is no such request
     */
    static String exactName(String... segments) {
        RequestAttributes request = RequestContextHolder.getRequestAttributes();
        String exact = request == null
                ? null
                : exactName(
                        request.getAttribute(ServletRequestPathUtils.PATH_ATTRIBUTE, RequestAttributes.SCOPE_REQUEST),
                        request.getAttribute(PATTERN, RequestAttributes.SCOPE_REQUEST));
        return exact == null ? LocksEndpoint.name(segments) : exact;
    }

    private static @Nullable String exactName(@Nullable Object path, @Nullable Object pattern) {
        if (!(path instanceof RequestPath request) || !(pattern instanceof String matched)) {
            return null;
        }
        // The pattern ends with that of all remaining segments.
        return nameAfter(matched.substring(0, matched.lastIndexOf('/')), request.pathWithinApplication());
    }

    /**
     * Returns the name that follows the path of the endpoint.
     *
     * @param endpoint the path of the endpoint
     * @param request the path of the request
     * @return the name; null: the request is not for one lock of the endpoint
     */
    static @Nullable String nameAfter(String endpoint, PathContainer request) {
        String path = request.value();
        return path.startsWith(endpoint + "/")
                ? UriUtils.decode(path.substring(endpoint.length() + 1), StandardCharsets.UTF_8)
                : null;
    }
}
