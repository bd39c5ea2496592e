/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.sample.browser;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.WebSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** One page of the browser. */
public final class Page {

    private static final int PATIENCE_SECONDS = 60;

    /** Asks in the page itself, so that a state which lasts for a moment is seen. */
    private static final String AWAIT = """
            new Promise((resolve, reject) => {
              const end = Date.now() + %d;
              const ask = () => {
                let holds = false;
                try { holds = %s; } catch (notThereYet) { }
                if (holds) resolve(true);
                else if (Date.now() > end) reject(new Error(document.body.innerText));
                else setTimeout(ask, 20);
              };
              ask();
            })""";

    private final AtomicInteger commands = new AtomicInteger();
    private final Map<Integer, CompletableFuture<JsonNode>> answers = new ConcurrentHashMap<>();
    private final List<String> complaints = new CopyOnWriteArrayList<>();
    private final WebSocket socket;

    Page(HttpClient client, URI address) {
        socket =
                client.newWebSocketBuilder().buildAsync(address, new Receiver()).join();
        List.of("Page.enable", "Runtime.enable", "Log.enable").forEach(domain -> command(domain, Map.of()));
    }

    /** Goes to an address. */
    public void goTo(String address) {
        command("Page.navigate", Map.of("url", address));
        await("location.href.startsWith('" + address + "') && document.readyState === 'complete'");
    }

    /** Takes the shape of a window or of a phone. */
    public void resize(int width, int height, boolean phone) {
        command(
                "Emulation.setDeviceMetricsOverride",
                Map.of("width", width, "height", height, "deviceScaleFactor", 1, "mobile", phone));
    }

    /** Prefers {@code light} or {@code dark}. */
    public void prefer(String colours) {
        command(
                "Emulation.setEmulatedMedia",
                Map.of("features", List.of(Map.of("name", "prefers-color-scheme", "value", colours))));
    }

    /** Waits until an expression is true; what it throws means not yet. Fails with the text of the page. */
    public void await(String expression) {
        evaluate(AWAIT.formatted(TimeUnit.SECONDS.toMillis(PATIENCE_SECONDS - 10), expression));
    }

    /** Returns the value of an expression, after its promise is kept. */
    public JsonNode evaluate(String expression) {
        JsonNode answer = command(
                "Runtime.evaluate", Map.of("expression", expression, "awaitPromise", true, "returnByValue", true));
        if (answer.has("exceptionDetails")) {
            throw new AssertionError(expression + "\n"
                    + answer.at("/exceptionDetails/exception/description").asString(answer.toString()));
        }
        return answer.at("/result/value");
    }

    /** Clicks with the mouse in the middle of the first element that a selector finds. */
    public void click(String selector) {
        String element = "document.querySelector('" + selector.replace("'", "\\'") + "')";
        await(element + " && !" + element + ".matches(':disabled')");
        JsonNode middle = evaluate("(() => { const e = " + element + "; e.scrollIntoView({block: 'center'});"
                + " const r = e.getBoundingClientRect();"
                + " return {x: r.x + r.width / 2, y: r.y + r.height / 2}; })()");
        for (String type : List.of("mousePressed", "mouseReleased")) {
            command(
                    "Input.dispatchMouseEvent",
                    Map.of(
                            "type",
                            type,
                            "x",
                            middle.get("x").asDouble(),
                            "y",
                            middle.get("y").asDouble(),
                            "button",
                            "left",
                            "clickCount",
                            1));
        }
    }

    /** Presses a key, such as {@code Escape}, which has this code. */
    public void press(String key, int code) {
        String text = key.equals("Enter") ? "\r" : "";
        for (String type : List.of("keyDown", "keyUp")) {
            command(
                    "Input.dispatchKeyEvent",
                    Map.of("type", type, "key", key, "code", key, "windowsVirtualKeyCode", code, "text", text));
        }
    }

    /** Returns how long scripts of the page have run by now, in ms of the processor. */
    public double scriptMillis() {
        command("Performance.enable", Map.of("timeDomain", "threadTicks"));
        for (JsonNode metric : command("Performance.getMetrics", Map.of()).get("metrics")) {
            if (metric.get("name").asString().equals("ScriptDuration")) {
                return metric.get("value").asDouble() * 1_000;
            }
        }
        throw new AssertionError("The browser does not say how long scripts have run");
    }

    /** Writes a picture of what the window shows. */
    public void photograph(Path file) throws IOException {
        JsonNode picture = command("Page.captureScreenshot", Map.of("format", "png"));
        Files.createDirectories(file.toAbsolutePath().getParent());
        Files.write(file, Base64.getDecoder().decode(picture.get("data").asString()));
    }

    /** Returns the errors and warnings that the console has shown. */
    public List<String> complaints() {
        return List.copyOf(complaints);
    }

    /** Forgets those that name a text: they were to be expected. */
    public void forgetComplaintsAbout(String text) {
        complaints.removeIf(complaint -> complaint.contains(text));
    }

    void close() {
        socket.abort();
    }

    private JsonNode command(String method, Map<String, Object> parameters) {
        int id = commands.incrementAndGet();
        CompletableFuture<JsonNode> answer = new CompletableFuture<>();
        answers.put(id, answer);
        String text = JsonMapper.shared().writeValueAsString(Map.of("id", id, "method", method, "params", parameters));
        socket.sendText(text, true).join();
        JsonNode message = answer.orTimeout(PATIENCE_SECONDS, TimeUnit.SECONDS).join();
        if (message.has("error")) {
            throw new AssertionError(method + ": " + message.get("error"));
        }
        return message.get("result");
    }

    private void take(JsonNode message) {
        CompletableFuture<JsonNode> asked = answers.remove(message.path("id").asInt(0));
        if (asked != null) {
            asked.complete(message);
            return;
        }
        JsonNode parameters = message.path("params");
        switch (message.path("method").asString("")) {
            case "Runtime.exceptionThrown" ->
                complaints.add(
                        parameters.at("/exceptionDetails/exception/description").asString(parameters.toString()));
            case "Runtime.consoleAPICalled" -> complain(parameters.path("type"), parameters.path("args"));
            case "Log.entryAdded" -> complain(parameters.at("/entry/level"), parameters.at("/entry"));
            default -> {}
        }
    }

    private void complain(JsonNode level, JsonNode detail) {
        if (List.of("error", "warning", "assert").contains(level.asString(""))) {
            complaints.add(detail.toString());
        }
    }

    /** Puts the parts of a message together. */
    private final class Receiver implements WebSocket.Listener {

        private final StringBuilder text = new StringBuilder();

        @Override
        public @Nullable CompletionStage<?> onText(WebSocket webSocket, CharSequence part, boolean last) {
            text.append(part);
            if (last) {
                take(JsonMapper.shared().readTree(text.toString()));
                text.setLength(0);
            }
            webSocket.request(1);
            return null;
        }
    }
}
