/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.docs;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * A block of code in a page.
 *
 * @param page the page, relative to the project
 * @param line the line at which it begins
 * @param language what it is written in; empty: not said
 * @param text the code
 */
record CodeBlock(String page, int line, String language, String text) {

    private static final String FENCE = "```";

    /** Returns all blocks of all pages that are written in a language. */
    static List<CodeBlock> in(String language) throws IOException {
        List<CodeBlock> blocks = new ArrayList<>();
        for (Path page : Pages.all()) {
            of(page).stream().filter(block -> block.language.equals(language)).forEach(blocks::add);
        }
        return blocks;
    }

    private static List<CodeBlock> of(Path page) throws IOException {
        List<CodeBlock> blocks = new ArrayList<>();
        List<String> lines = Files.readAllLines(page);
        int begin = -1;
        for (int i = 0; i < lines.size(); i++) {
            if (!lines.get(i).startsWith(FENCE)) {
                continue;
            }
            if (begin < 0) {
                begin = i;
            } else {
                String language = lines.get(begin).substring(FENCE.length()).strip();
                String text = String.join("\n", lines.subList(begin + 1, i));
                blocks.add(new CodeBlock(Pages.name(page), begin + 1, language, text));
                begin = -1;
            }
        }
        if (begin >= 0) {
            throw new IllegalStateException(Pages.name(page) + ":" + (begin + 1) + " begins a block that never ends");
        }
        return blocks;
    }

    String place() {
        return page + ":" + line;
    }
}
