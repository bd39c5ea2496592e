package io.lockkeeper.sample;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Speaks to one instance of the shop over HTTP. */
final class Customer {

    private static final JsonMapper json = JsonMapper.shared();

    private final HttpClient client =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final String address;

    Customer(int port) {
        this.address = "http://localhost:" + port;
    }

    Reply get(String path) {
        return reply(send(request(path).GET()));
    }

    Reply post(String path) {
        return reply(send(post(path, request(path))));
    }

    /** Posts without waiting for the answer, which may never come. */
    CompletableFuture<Reply> postAsync(String path) {
        return client.sendAsync(
                        post(path, request(path)).build(), HttpResponse.BodyHandlers.ofString())
                .thenApply(Customer::reply);
    }

    boolean isServed() {
        try {
            return get("/stock/lamp").status() == 200;
        } catch (UncheckedIOException notYet) {
            return false;
        }
    }

    private HttpRequest.Builder request(String path) {
        return HttpRequest.newBuilder(URI.create(address + path)).timeout(Duration.ofSeconds(30));
    }
}
