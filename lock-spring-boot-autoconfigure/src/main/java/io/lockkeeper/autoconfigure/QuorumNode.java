/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import java.net.URI;
import java.net.URISyntaxException;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Where one of the masters of a quorum is; without a user or password these are null. */
record QuorumNode(
        String host,
        int port,
        @Nullable String user,
        @Nullable String password,
        int database,
        boolean encrypted) {

    private static final int DEFAULT_PORT = 6379;
    private static final int MAX_PORT = 65_535;
    private static final int FEWEST = 3;

    /** Reads a URI, {@code rediss://} for TLS. Messages contain nothing of it: it may have a password in it. */
    static QuorumNode parse(String text) {
        URI uri;
        try {
            uri = new URI(text.strip());
        } catch (URISyntaxException wrong) {
            throw new IllegalArgumentException("is not a URI", wrong);
        }
        String scheme = String.valueOf(uri.getScheme()).toLowerCase(Locale.ROOT);
        if (!scheme.equals("redis") && !scheme.equals("rediss")) {
            throw new IllegalArgumentException("does not begin with redis:// or rediss://");
        }
        if (uri.getHost() == null) {
            throw new IllegalArgumentException("has no valid host");
        }
        if (uri.getPort() == 0 || uri.getPort() > MAX_PORT) {
            throw new IllegalArgumentException("has a port that is not between 1 and " + MAX_PORT);
        }
        String path = String.valueOf(uri.getPath()).replaceFirst("^/", "");
        if (!path.matches("\\d{0,6}") || uri.getQuery() != null || uri.getFragment() != null) {
            throw new IllegalArgumentException("has something else than the number of a database after the host");
        }
        String credentials = uri.getRawUserInfo();
        int colon = credentials == null ? -1 : credentials.indexOf(':');
        return new QuorumNode(
                uri.getHost().toLowerCase(Locale.ROOT),
                uri.getPort() < 0 ? DEFAULT_PORT : uri.getPort(),
                credentials == null || colon < 1 ? null : decoded(credentials.substring(0, colon)),
                credentials == null ? null : decoded(credentials.substring(colon + 1)),
                path.isEmpty() ? 0 : Integer.parseInt(path),
                scheme.equals("rediss"));
    }

    private static @Nullable String decoded(String part) {
        return part.isEmpty() ? null : URLDecoder.decode(part.replace("+", "%2B"), StandardCharsets.UTF_8);
    }

    @Override
    public String toString() {
        return host + ":" + port;
    }

    static @Nullable String fault(List<String> nodes) {
        int count = nodes.size();
        if (count < FEWEST || count % 2 == 0) {
            return "must name three or more masters, and an odd number of them: there are " + count;
        }
        // The same server in another database would fail together with it.
        Map<String, Integer> servers = new HashMap<>();
        for (int number = 1; number <= count; number++) {
            try {
                Integer same = servers.putIfAbsent(parse(nodes.get(number - 1)).toString(), number);
                if (same != null) {
                    return "must be independent masters: number " + number + " is the same server as number " + same
                            + ", replace it by another one";
                }
            } catch (IllegalArgumentException wrong) {
                return "must be URIs such as redis://user:password@host:6379/0: number " + number + " "
                        + wrong.getMessage();
            }
        }
        return null;
    }

    /** Returns the URIs as they may be shown: a user's name and password are not for the log. */
    static String masked(List<String> nodes) {
        return String.join(
                ",",
                nodes.stream()
                        .map(node -> node.replaceAll("^(.*//)?.*@", "$1***@"))
                        .toList());
    }
}
