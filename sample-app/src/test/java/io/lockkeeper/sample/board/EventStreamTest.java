/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.sample.board;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.apache.catalina.core.StandardContext;
import org.apache.catalina.startup.Tomcat;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The stream in a Tomcat that has four threads. */
@Timeout(60)
class EventStreamTest {

    private static final int THREADS = 4;
    private static final Logger tomcatLog = Logger.getLogger("org.apache");

    @TempDir
    private Path folder;

    private final EventStream stream = new EventStream();
    private final Tomcat tomcat = new Tomcat();
    private final List<Client> clients = new ArrayList<>();

    @BeforeEach
    void start() throws Exception {
        tomcatLog.setLevel(Level.WARNING);
        tomcat.setBaseDir(folder.toString());
        tomcat.setPort(0);
        tomcat.getConnector().setProperty("maxThreads", String.valueOf(THREADS));
        StandardContext context = (StandardContext) tomcat.addContext("", folder.toString());
        context.setClearReferencesThreadLocals(false);
        context.setClearReferencesRmiTargets(false);
        Tomcat.addServlet(context, "events", stream).setAsyncSupported(true);
        context.addServletMappingDecoded("/events", "events");
        tomcat.start();
    }

    @AfterEach
    void stop() throws Exception {
        stream.close();
        for (Client client : clients) {
            client.close();
        }
        tomcat.stop();
        tomcat.destroy();
    }

    @Test
    void moreClientsThanThreadsHearEveryEvent() throws Exception {
        for (int number = 0; number < 10 * THREADS; number++) {
            connect().awaitLine("retry: 1000");
        }

        stream.send(event("first"));
        for (Client client : clients) {
            client.awaitLine("data: first");
        }
        stream.send(event("second"));
        for (Client client : clients) {
            client.awaitLine("data: second");
        }
    }

    @Test
    void aClientThatDoesNotReadDelaysNobodyAndGetsFewerEvents() throws Exception {
        Client idle = connect();
        Client reader = connect();
        reader.awaitLine("retry: 1000");
        idle.awaitLine("retry: 1000");
        int events = 100;
        String large = "x".repeat(256 * 1024);

        for (int number = 1; number <= events; number++) {
            stream.send(event(number + large));
            reader.awaitLine("data: " + number + large);
        }

        stream.send(event("last"));
        int missed = 0;
        while (!idle.line().equals("data: last")) {
            missed++;
        }
        assertThat(missed / 2).as("events that waited for the idle client").isLessThan(events / 2);
    }

    @Test
    void whoLeavesIsForgotten() throws Exception {
        connect().awaitLine("retry: 1000");
        assertThat(stream.hasClients()).isTrue();
        clients.get(0).close();

        while (stream.hasClients()) {
            stream.send(event("anybody there?"));
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(20));
        }
    }

    @Test
    void whenTheApplicationClosesEveryStreamEndsAndNoneBegins() throws Exception {
        Client client = connect();
        client.awaitLine("retry: 1000");

        stream.close();

        client.awaitEnd();
        assertThat(stream.hasClients()).isFalse();
        assertThat(connect().status).contains("503");
    }

    private static byte[] event(String data) {
        return ("data: " + data + "\n\n").getBytes(StandardCharsets.UTF_8);
    }

    private Client connect() throws IOException {
        Client client = new Client(tomcat.getConnector().getLocalPort());
        clients.add(client);
        return client;
    }

    /** Speaks HTTP/1.0, so that the answer comes as it is, and takes little at a time. */
    private static final class Client {

        private final Socket socket = new Socket();
        private final BufferedReader in;
        private final String status;

        Client(int port) throws IOException {
            socket.setReceiveBufferSize(16 * 1024);
            socket.connect(new InetSocketAddress("localhost", port));
            socket.setSoTimeout(30_000);
            socket.getOutputStream().write("GET /events HTTP/1.0\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
            in = new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
            status = line();
        }

        String line() throws IOException {
            String line = in.readLine();
            assertThat(line).as("a line, and not the end of the stream").isNotNull();
            return line;
        }

        void awaitLine(String text) throws IOException {
            String line = line();
            while (!line.equals(text)) {
                line = line();
            }
        }

        void awaitEnd() throws IOException {
            String line = in.readLine();
            while (line != null) {
                line = in.readLine();
            }
        }

        void close() throws IOException {
            socket.close();
        }
    }
}
