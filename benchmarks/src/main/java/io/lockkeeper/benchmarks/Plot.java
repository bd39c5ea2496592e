/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.benchmarks;

import java.util.List;
import java.util.Locale;

/** Bars under each other, each with a line from the least to the most that was measured. */
final class Plot {

    private static final int LEFT = 170;
    private static final int WIDTH = 480;
    private static final int ROW = 24;
    private static final int TOP = 34;

    private Plot() {}

    static String of(String title, List<Bar> bars) {
        double most = Math.max(
                Double.MIN_NORMAL, bars.stream().mapToDouble(Bar::most).max().orElse(1));
        int height = TOP + ROW * bars.size() + 10;
        StringBuilder svg = new StringBuilder(String.format(
                Locale.ROOT,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\""
                        + " font-size=\"12\">%n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>%n"
                        + "<text x=\"10\" y=\"20\" font-weight=\"bold\">%s</text>%n",
                LEFT + WIDTH + 90,
                height,
                title));
        for (int i = 0; i < bars.size(); i++) {
            bar(svg, bars.get(i), TOP + i * ROW, WIDTH / most);
        }
        return svg.append("</svg>\n").toString();
    }

    private static void bar(StringBuilder svg, Bar one, int y, double scale) {
        String colour = one.ours() ? "#2a78d6" : "#b8b6ae";
        svg.append(String.format(
                Locale.ROOT,
                "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>%n"
                        + "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>%n"
                        + "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"#444\"/>%n"
                        + "<text x=\"%.1f\" y=\"%d\">%s</text>%n",
                LEFT - 8,
                y + 15,
                one.label(),
                LEFT,
                y + 3,
                one.median() * scale,
                ROW - 8,
                colour,
                LEFT + one.least() * scale,
                y + 11,
                LEFT + one.most() * scale,
                y + 11,
                LEFT + one.most() * scale + 6,
                y + 15,
                figure(one.median())));
    }

    private static String figure(double value) {
        return String.format(Locale.ROOT, Math.abs(value) < 10 ? "%,.2f" : "%,.0f", value);
    }
}
