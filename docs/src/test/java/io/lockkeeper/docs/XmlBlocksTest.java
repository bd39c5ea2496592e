/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.w3c.dom.Document;

/** Blocks of XML are well-formed, and dependencies on Lockkeeper name modules that exist. */
class XmlBlocksTest {

    static Stream<CodeBlock> blocks() throws IOException {
        return CodeBlock.in("xml").stream();
    }

    @ParameterizedTest
    @MethodSource("blocks")
    void isWellFormed(CodeBlock block) throws Exception {
        String xml = "<block>" + block.text() + "</block>";
        Document parsed = DocumentBuilderFactory.newInstance()
                .newDocumentBuilder()
                .parse(new ByteArrayInputStream(xml.getBytes(StandardCharsets.UTF_8)));
        var artifacts = parsed.getElementsByTagName("artifactId");
        for (int i = 0; i < artifacts.getLength(); i++) {
            String artifact = artifacts.item(i).getTextContent();
            if (artifact.startsWith("lock")) {
                assertThat(Pages.project().resolve(artifact)).as(block.place()).isDirectory();
            }
        }
    }
}
