/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.sample;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Speaks to one instance of the shop over HTTP. */
final class Customer {

    private static final JsonMapper json = JsonMapper.builder().build();

    private final HttpClient client =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final String address;

    Customer(int port) {
        this.address = "http://localhost:" + port;
    }

    Reply get(String path) throws IOException, InterruptedException {
        return Reply.of(client.send(request(path).GET().build(), BodyHandlers.ofString()));
    }

    Reply post(String path) throws IOException, InterruptedException {
        return Reply.of(client.send(post(request(path)), BodyHandlers.ofString()));
    }

    Reply delete(String path) throws IOException, InterruptedException {
        return Reply.of(client.send(request(path).DELETE().build(), BodyHandlers.ofString()));
    }

    /** Posts and waits for no answer: the instance may be killed before it gives one. */
    CompletableFuture<Reply> postAsync(String path) {
        return client.sendAsync(post(request(path)), BodyHandlers.ofString()).thenApply(Reply::of);
    }

    /** Opens the stream of the page; the lines come as long as the instance runs. */
    CompletableFuture<HttpResponse<Stream<String>>> listen() {
        return client.sendAsync(request("/events").GET().build(), BodyHandlers.ofLines());
    }

    private HttpRequest.Builder request(String path) {
        return HttpRequest.newBuilder(URI.create(address + path)).timeout(Duration.ofMinutes(3));
    }

    private static HttpRequest post(HttpRequest.Builder request) {
        return request.POST(BodyPublishers.noBody()).build();
    }

    /** What an instance answered. */
    record Reply(int status, JsonNode body) {

        private static Reply of(HttpResponse<String> response) {
            boolean isJson =
                    response.headers().firstValue("Content-Type").orElse("").contains("json");
            return new Reply(response.statusCode(), isJson ? json.readTree(response.body()) : json.createObjectNode());
        }

        String text(String field) {
            return body.path(field).asString("");
        }

        int number(String field) {
            return body.path(field).asInt(-1);
        }
    }
}
