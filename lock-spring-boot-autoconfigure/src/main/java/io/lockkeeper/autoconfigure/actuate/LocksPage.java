/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.actuate;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;
import org.springframework.core.io.ClassPathResource;
import org.springframework.core.io.Resource;
import org.springframework.security.web.csrf.CsrfToken;
import org.springframework.util.ClassUtils;
import org.springframework.web.context.request.RequestAttributes;
import org.springframework.web.context.request.RequestContextHolder;
import org.springframework.web.util.HtmlUtils;

/** The page of the endpoint {@code locks}: one file, into which it writes what the page may do. */
final class LocksPage {

    private static final Resource FILE = new ClassPathResource("locks.html", LocksPage.class);
    private static final boolean SECURITY =
            ClassUtils.isPresent("org.springframework.security.web.csrf.CsrfToken", LocksPage.class.getClassLoader());

    private final boolean forceRelease;
    private final String text;

    /** The page in a native image. */
    static final class Hints implements RuntimeHintsRegistrar {

        @Override
        public void registerHints(RuntimeHints hints, @Nullable ClassLoader loader) {
            hints.resources().registerResource(FILE);
        }
    }

    LocksPage(boolean forceRelease) {
        this.forceRelease = forceRelease;
        try {
            this.text = FILE.getContentAsString(StandardCharsets.US_ASCII);
        } catch (IOException unreadable) {
            throw new UncheckedIOException(unreadable);
        }
    }

    /** Returns the page for the request that this thread serves. */
    String render() {
        String page = text.replace("{{force-release}}", Boolean.toString(forceRelease));
        return SECURITY ? CsrfHeader.write(page) : fill(page, "", "");
    }

    private static String fill(String page, String header, String token) {
        return page.replace("{{csrf-header}}", HtmlUtils.htmlEscape(header))
                .replace("{{csrf-token}}", HtmlUtils.htmlEscape(token));
    }

    /** The header without which Spring Security refuses what the page asks for; loaded only where that is present. */
    private static final class CsrfHeader {

        static String write(String page) {
            RequestAttributes request = RequestContextHolder.getRequestAttributes();
            return request != null
                            && request.getAttribute(CsrfToken.class.getName(), RequestAttributes.SCOPE_REQUEST)
                                    instanceof CsrfToken token
                    ? fill(page, token.getHeaderName(), token.getToken())
                    : fill(page, "", "");
        }
    }
}
