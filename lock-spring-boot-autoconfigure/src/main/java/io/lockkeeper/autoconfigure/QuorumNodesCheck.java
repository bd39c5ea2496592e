/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Finds nonsense in the URIs of the masters of a quorum. */
final class QuorumNodesCheck {

    private static final int FEWEST = 3;

    private QuorumNodesCheck() {}

    /** Returns what is wrong, and what to change; null: nothing is. */
    static @Nullable String fault(List<String> nodes) {
        int count = nodes.size();
        if (count < FEWEST || count % 2 == 0) {
            return "must name three or more masters, and an odd number of them: there are " + count;
        }
        List<QuorumNode> parsed = new ArrayList<>();
        for (String node : nodes) {
            try {
                parsed.add(QuorumNode.parse(node));
            } catch (IllegalArgumentException wrong) {
                return "must be URIs such as redis://user:password@host:6379/0: number " + (parsed.size() + 1) + " "
                        + wrong.getMessage();
            }
        }
        for (int i = 0; i < count; i++) {
            for (int j = 0; j < i; j++) {
                if (parsed.get(i).isSameServer(parsed.get(j))) {
                    return "must be independent masters: number " + (i + 1) + " is the same server as number " + (j + 1)
                            + ", replace it by another one";
                }
            }
        }
        return null;
    }

    /** Returns the URIs as they may be shown: a user's name and password are not for the log. */
    static String masked(List<String> nodes) {
        return String.join(
                ",",
                nodes.stream().map(node -> node.replaceAll("//.*@", "//***@")).toList());
    }
}
