/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.actuate;

import org.springframework.boot.actuate.endpoint.Producible;
import org.springframework.util.MimeType;
import org.springframework.util.MimeTypeUtils;

/**
 * What the endpoint {@code locks} answers with. Of several that a client accepts, Spring Boot takes the last one here; for
 * any type, the default.
 */
enum LocksMediaType implements Producible<LocksMediaType> {
    JSON_V2(LocksMediaType.V2),
    JSON_V3(LocksMediaType.V3),
    JSON(MimeTypeUtils.APPLICATION_JSON_VALUE),
    HTML(MimeTypeUtils.TEXT_HTML_VALUE);

    static final String V2 = "application/vnd.spring-boot.actuator.v2+json";
    static final String V3 = "application/vnd.spring-boot.actuator.v3+json";

    private final String type;

    LocksMediaType(String type) {
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
