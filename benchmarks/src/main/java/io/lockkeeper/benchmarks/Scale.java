/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.benchmarks;

/**
 * What locks and waiters cost when there are many of them. Arguments, all optional: {@code --only} tables, by parts of
 * their names (held, waiting, release, tombstones), {@code --held}, {@code --waiters}, {@code --instances} and
 * {@code --names} how many, with commas, {@code --out} a folder; further ones are said at each table.
 */
final class Scale {

    private Scale() {}

    public static void main(String[] arguments) {
        Settings settings = Settings.of(arguments);
        Table table = new Table("scale", settings);
        if (settings.takes("--only", "held")) {
            HeldScale.measure(settings, table);
        }
        if (settings.takes("--only", "waiting")) {
            WaitingScale.measure(settings, table);
        }
        if (settings.takes("--only", "release")) {
            ReleaseScale.measure(settings, table);
        }
        if (settings.takes("--only", "tombstones")) {
            TombstoneScale.measure(settings, table);
        }
        table.end();
        System.exit(0);
    }
}
