package dev.lite.manager;

import static java.util.Objects.requireNonNull;

import dev.lite.cluster.CuratorConfig;
import dev.lite.cluster.CuratorDirectory;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.tomcat.TomcatWebServer;
import org.springframework.boot.web.server.servlet.context.ServletWebServerApplicationContext;
import org.springframework.context.ConfigurableApplicationContext;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** A manager in this JVM, on its own ports, with its embedded ZooKeeper; and a session with its directory. */
public final class RunningManager implements AutoCloseable {
    public static final Duration DEADLINE = Waits.seconds(20);
    private static final JsonMapper JSON = JsonMapper.builder().build();

    private final ConfigurableApplicationContext context;
    private final CuratorDirectory directory;
    private final HttpClient client =
            HttpClient.newBuilder().connectTimeout(DEADLINE).build();

    public RunningManager(Path work, String... options) {
        List<String> arguments = new ArrayList<>(List.of(
                "--server.port=0",
                "--lite.manager.zookeeper.embedded=true",
                "--lite.manager.zookeeper.port=0",
                "--lite.manager.zookeeper.data-directory=" + work.resolve("zookeeper"),
                "--lite.ready-file=" + work.resolve("manager.properties"),
                "--lite.manager.name=the manager"));
        arguments.addAll(List.of(options));
        context = start(arguments);
        directory = CuratorDirectory.open(CuratorConfig.of(
                context.getBean(dev.lite.manager.zookeeper.EmbeddedZooKeeper.class)
                        .connectString(),
                "lite"));
    }

    /** One at a time: applications that start in one JVM set up the same logging system, and no two threads may do that. */
    private static ConfigurableApplicationContext start(List<String> arguments) {
        synchronized (RunningManager.class) {
            return SpringApplication.run(LiteManagerApplication.class, arguments.toArray(String[]::new));
        }
    }

    /** The cluster directory, as the nodes use it. */
    public CuratorDirectory directory() {
        return directory;
    }

    public <T> T bean(Class<T> type) {
        return context.getBean(type);
    }

    public <T> T bean(String name, Class<T> type) {
        return context.getBean(name, type);
    }

    public <T> T property(String name, Class<T> type) {
        return context.getEnvironment().getRequiredProperty(name, type);
    }

    /** The threads of the web server that serve requests. */
    public Executor requestThreads() {
        var web = (ServletWebServerApplicationContext) context;
        var tomcat = (TomcatWebServer) requireNonNull(web.getWebServer());
        return tomcat.getTomcat().getConnector().getProtocolHandler().getExecutor();
    }

    public int port() {
        return context.getEnvironment().getRequiredProperty("local.server.port", Integer.class);
    }

    public URI uri(String path) {
        return URI.create("http://127.0.0.1:%d%s".formatted(port(), path));
    }

    public HttpResponse<String> send(HttpRequest.Builder request) throws IOException, InterruptedException {
        return client.send(request.timeout(DEADLINE).build(), HttpResponse.BodyHandlers.ofString());
    }

    public HttpResponse<String> get(String path, String... headers) throws IOException, InterruptedException {
        HttpRequest.Builder request = HttpRequest.newBuilder(uri(path));
        for (int index = 0; index < headers.length; index += 2) {
            request.header(headers[index], headers[index + 1]);
        }
        return send(request);
    }

    /** The JSON of an answer, which must be OK. */
    public JsonNode json(String path) throws IOException, InterruptedException {
        HttpResponse<String> answer = get(path);
        if (answer.statusCode() != 200) {
            throw new AssertionError("%s answered %d: %s".formatted(path, answer.statusCode(), answer.body()));
        }
        return tree(answer.body());
    }

    public static JsonNode tree(String body) {
        return JSON.readTree(body);
    }

    @Override
    public void close() {
        client.close();
        directory.close();
        context.close();
    }
}
