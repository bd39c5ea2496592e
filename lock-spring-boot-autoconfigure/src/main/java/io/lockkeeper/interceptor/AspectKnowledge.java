/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.util.ClassUtils;
import org.springframework.util.StringUtils;

/**
 * Tells our aspect from others, which leave the same traces in a woven class: a weaver that ran when the class was compiled
 * left the name of the aspect in the class file, and one that runs when it is loaded reads it in its configuration.
 */
final class AspectKnowledge {

    /** What woven code calls; by name, because it stands above this package and needs AspectJ. */
    static final String ASPECT = "io.lockkeeper.weaving.DistributedLockedAspect";

    /** See the AspectJ Development Environment Guide, "Configuring Load-time Weaving". */
    private static final String FILES = "org.aspectj.weaver.loadtime.configuration";

    private static final String USUAL_FILES = "META-INF/aop.xml;META-INF/aop-ajc.xml;org/aspectj/aop.xml";

    private AspectKnowledge() {}

    /**
     * Returns whether our aspect is among those that were woven into a class.
     *
     * @param type the class
     * @param bodies the names of the methods to which weavers moved the bodies of others
     */
    static boolean isWovenInto(Class<?> type, List<String> bodies) {
        try {
            URL file = type.getResource(ClassUtils.getClassFileName(type));
            String compiled = file == null ? "" : text(file);
            return compiled.contains(ClassUtils.convertClassNameToResourcePath(ASPECT))
                    || (bodies.stream().anyMatch(body -> !compiled.contains(body)) && isConfigured(type));
        } catch (IOException unreadable) {
            return false;
        }
    }

    private static boolean isConfigured(Class<?> type) throws IOException {
        for (URL file : configuration(type.getClassLoader())) {
            if (text(file).contains(ASPECT)) {
                return true;
            }
        }
        return false;
    }

    private static List<URL> configuration(@Nullable ClassLoader loader) throws IOException {
        List<URL> files = new ArrayList<>();
        for (String file : StringUtils.tokenizeToStringArray(System.getProperty(FILES, USUAL_FILES), ";")) {
            if (file.startsWith("file:")) {
                files.add(new URL(file));
            } else if (loader != null) {
                files.addAll(Collections.list(loader.getResources(file)));
            }
        }
        return files;
    }

    private static String text(URL file) throws IOException {
        try (InputStream content = file.openStream()) {
            return new String(content.readAllBytes(), StandardCharsets.ISO_8859_1);
        }
    }
}
