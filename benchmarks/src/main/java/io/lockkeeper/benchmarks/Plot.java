/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.benchmarks;

import java.util.List;
import java.util.Locale;

/** A bar for each peer, with a line from the least to the most of the rounds. */
final class Plot {

    private static final int LEFT = 170;
    private static final int WIDTH = 480;
    private static final int ROW = 24;
    private static final int TOP = 34;

    private Plot() {}

    static String of(String title, List<Figures> figures) {
        double most = figures.stream()
                .mapToDouble(one -> one.largest(Outcome::perSecond))
                .max()
                .orElse(1);
        int height = TOP + ROW * figures.size() + 10;
        StringBuilder svg = new StringBuilder(String.format(
                Locale.ROOT,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\""
                        + " font-size=\"12\">%n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>%n"
                        + "<text x=\"10\" y=\"20\" font-weight=\"bold\">%s</text>%n",
                LEFT + WIDTH + 90,
                height,
                title));
        for (int i = 0; i < figures.size(); i++) {
            bar(svg, figures.get(i), TOP + i * ROW, WIDTH / most);
        }
        return svg.append("</svg>\n").toString();
    }

    private static void bar(StringBuilder svg, Figures one, int y, double scale) {
        double median = one.median(Outcome::perSecond);
        String colour = one.peer.name().startsWith("LOCKKEEPER") ? "#2a78d6" : "#b8b6ae";
        svg.append(String.format(
                Locale.ROOT,
                "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>%n"
                        + "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>%n"
                        + "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"#444\"/>%n"
                        + "<text x=\"%.1f\" y=\"%d\">%,.0f</text>%n",
                LEFT - 8,
                y + 15,
                one.peer.title(),
                LEFT,
                y + 3,
                median * scale,
                ROW - 8,
                colour,
                LEFT + one.smallest(Outcome::perSecond) * scale,
                y + 11,
                LEFT + one.largest(Outcome::perSecond) * scale,
                y + 11,
                LEFT + one.largest(Outcome::perSecond) * scale + 6,
                y + 15,
                median));
    }
}
