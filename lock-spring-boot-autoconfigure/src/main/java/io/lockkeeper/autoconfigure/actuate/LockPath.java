/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.actuate;

import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.InvalidEndpointRequestException;
import org.springframework.http.server.PathContainer;
import org.springframework.http.server.RequestPath;
import org.springframework.util.StringUtils;
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
        if (request == null
                || !(request.getAttribute(ServletRequestPathUtils.PATH_ATTRIBUTE, RequestAttributes.SCOPE_REQUEST)
                        instanceof RequestPath path)
                || !(request.getAttribute(PATTERN, RequestAttributes.SCOPE_REQUEST) instanceof String pattern)) {
            return LocksEndpoint.name(segments);
        }
        // The pattern ends with that of all remaining segments.
        String exact = nameAfter(pattern.substring(0, pattern.lastIndexOf('/')), path.pathWithinApplication());
        if (exact == null) {
            // Never the segments, which may be the name of another lock.
            throw new InvalidEndpointRequestException(
                    "the name of a lock cannot be read from " + path.value(), "Give it as the parameter name");
        }
        return exact;
    }

    /**
     * Returns the name that follows the path of the endpoint.
     *
     * @param endpoint the path of the endpoint
     * @param request the path of the request
     * @return the name; null: the request is not for one lock of the endpoint
     */
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
}
