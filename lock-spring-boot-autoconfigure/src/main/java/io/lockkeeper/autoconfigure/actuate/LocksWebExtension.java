/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.actuate;

import io.lockkeeper.LockStoreException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.InvalidEndpointRequestException;
import org.springframework.boot.actuate.endpoint.Producible;
import org.springframework.boot.actuate.endpoint.annotation.DeleteOperation;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.annotation.Selector.Match;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.boot.actuate.endpoint.web.annotation.EndpointWebExtension;
import org.springframework.core.convert.TypeDescriptor;
import org.springframework.core.convert.converter.GenericConverter;
import org.springframework.core.io.ClassPathResource;
import org.springframework.core.io.Resource;
import org.springframework.security.web.csrf.CsrfToken;
import org.springframework.util.MimeType;
import org.springframework.util.MimeTypeUtils;
import org.springframework.web.context.request.RequestAttributes;
import org.springframework.web.context.request.RequestContextHolder;
import org.springframework.web.util.HtmlUtils;

/** The endpoint {@code locks} over HTTP: a page for people, the same as JSON for programs, and names as a parameter. */
@EndpointWebExtension(endpoint = LocksEndpoint.class)
@SuppressWarnings("deprecation") // Spring Boot 3.5 knows optional parameters only by this annotation.
class LocksWebExtension {

    private final LocksEndpoint endpoint;
    private final Page page;

    /** No record: an aspect on actuator operations makes a subclass of it. */
    LocksWebExtension(LocksEndpoint endpoint, boolean isUnrestricted) {
        this.endpoint = endpoint;
        this.page = new Page(isUnrestricted && endpoint.forceRelease);
    }

    /**
     * Shows the page, or what this instance holds and waits for, locks by a pattern of their names (own: only those
     * that instances of this application hold or wait for), or one lock, which is not found without a holder and a
     * waiter.
     */
    @ReadOperation(producesFrom = MediaType.class)
    public WebEndpointResponse<Object> locks(
            @org.springframework.lang.Nullable Text pattern,
            @org.springframework.lang.Nullable Integer limit,
            @org.springframework.lang.Nullable Text name,
            @org.springframework.lang.Nullable Boolean own,
            @org.springframework.lang.Nullable String template,
            MediaType type) {
        if (type == MediaType.HTML) {
            return new WebEndpointResponse<>(page.render(), type);
        }
        return answer(type, () -> {
            if (name != null && pattern != null) {
                throw LocksEndpoint.refused("Give a name or a pattern, not both");
            }
            if (name != null) {
                return endpoint.one(name.only(), template);
            }
            return pattern == null
                    ? endpoint.here(template)
                    : endpoint.found(pattern.only(), limit, Boolean.TRUE.equals(own), template);
        });
    }

    /** Shows one lock; its name is percent-encoded but for slashes. */
    @ReadOperation
    public WebEndpointResponse<Object> lock(
            @Selector(match = Match.ALL_REMAINING) String[] name, @org.springframework.lang.Nullable String template) {
        return answer(null, () -> endpoint.one(LockPath.exactName(name), template));
    }

    /** Takes a lock away from its holder. Breaks mutual exclusion until the holder has heard of it. */
    @DeleteOperation
    public WebEndpointResponse<Object> forceReleaseNamed(
            @org.springframework.lang.Nullable Text name, @org.springframework.lang.Nullable String template) {
        return answer(null, () -> {
            if (name == null) {
                throw LocksEndpoint.refused("Give the name of the lock, as the parameter name or in the path");
            }
            return endpoint.release(name.only(), template);
        });
    }

    @DeleteOperation
    public WebEndpointResponse<Object> forceRelease(
            @Selector(match = Match.ALL_REMAINING) String[] name, @org.springframework.lang.Nullable String template) {
        return answer(null, () -> endpoint.release(LockPath.exactName(name), template));
    }

    /** Answers with what was found, or with the reason why nothing was. */
    private static WebEndpointResponse<Object> answer(
            @Nullable MediaType type, Supplier<@Nullable LocksDescription> request) {
        try {
            LocksDescription found = request.get();
            if (found == null) {
                return new WebEndpointResponse<>(WebEndpointResponse.STATUS_NOT_FOUND);
            }
            return type == null ? new WebEndpointResponse<>(found) : new WebEndpointResponse<>(found, type);
        } catch (InvalidEndpointRequestException refused) {
            return refused(WebEndpointResponse.STATUS_BAD_REQUEST, refused.getReason());
        } catch (UnsupportedOperationException off) {
            return refused(405, off.getMessage());
        } catch (LockStoreException failure) {
            // Worth another try.
            return refused(WebEndpointResponse.STATUS_SERVICE_UNAVAILABLE, failure.getMessage());
        }
    }

    private static WebEndpointResponse<Object> refused(int status, @Nullable String reason) {
        return new WebEndpointResponse<>(new LocksDescription.Refused(String.valueOf(reason)), status);
    }

    /** A parameter as it was sent. Spring Boot joins several with commas, which may be the name of another lock. */
    record Text(Object sent) {

        String only() {
            if (sent instanceof String text) {
                return text;
            }
            throw LocksEndpoint.refused("Give one name or pattern: there were " + sent);
        }

        /** Keeps what was sent as it is. */
        static final class Reader implements GenericConverter {

            @Override
            public Set<ConvertiblePair> getConvertibleTypes() {
                return Set.of(
                        new ConvertiblePair(String.class, Text.class),
                        new ConvertiblePair(Collection.class, Text.class));
            }

            @Override
            public @Nullable Object convert(@Nullable Object sent, TypeDescriptor from, TypeDescriptor to) {
                return sent == null ? null : new Text(sent);
            }
        }
    }

    /**
     * What the endpoint answers with. Of several that a client accepts, Spring Boot takes the last one here; for any
     * type, the default.
     */
    enum MediaType implements Producible<MediaType> {
        JSON_V2(MediaType.V2),
        JSON_V3(MediaType.V3),
        JSON(MimeTypeUtils.APPLICATION_JSON_VALUE),
        HTML(MimeTypeUtils.TEXT_HTML_VALUE);

        static final String V2 = "application/vnd.spring-boot.actuator.v2+json";
        static final String V3 = "application/vnd.spring-boot.actuator.v3+json";

        private final String type;

        MediaType(String type) {
            this.type = type;
        }

        @Override
        public boolean isDefault() {
            return this == JSON_V3;
        }

        @Override
        public MimeType getProducedMimeType() {
            return MimeTypeUtils.parseMimeType(type);
        }
    }

    /** The page of the endpoint {@code locks}: one file, into which it writes what the page may do. */
    static final class Page {

        private static final Resource FILE = new ClassPathResource("locks.html", LocksWebExtension.class);
        private static final String CSRF_TOKEN = "org.springframework.security.web.csrf.CsrfToken";

        private final boolean forceRelease;
        private final String text;

        Page(boolean forceRelease) {
            this.forceRelease = forceRelease;
            try {
                this.text = FILE.getContentAsString(StandardCharsets.US_ASCII);
            } catch (IOException unreadable) {
                throw new UncheckedIOException(unreadable);
            }
        }

        String render() {
            String page = text.replace("{{force-release}}", Boolean.toString(forceRelease));
            RequestAttributes request = RequestContextHolder.getRequestAttributes();
            // Where it is null, the class of the token may be absent, and is not loaded.
            return request != null
                            && request.getAttribute(CSRF_TOKEN, RequestAttributes.SCOPE_REQUEST)
                                    instanceof CsrfToken token
                    ? fill(page, token.getHeaderName(), token.getToken())
                    : fill(page, "", "");
        }

        /** Writes the header without which Spring Security refuses the page's requests. */
        private static String fill(String page, String header, String token) {
            return page.replace("{{csrf-header}}", HtmlUtils.htmlEscape(header))
                    .replace("{{csrf-token}}", HtmlUtils.htmlEscape(token));
        }
    }
}
