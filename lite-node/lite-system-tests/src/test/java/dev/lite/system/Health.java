package dev.lite.system;

import dev.lite.local.LocalProcess;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

/** Reads the health of a process. */
final class Health {
    private Health() {}

    /** The health; empty while the process does not answer. */
    static String of(LocalProcess process) {
        return at(process, "health");
    }

    /** What another endpoint of the process's Actuator answers; empty while it does not. */
    static String at(LocalProcess process, String endpoint) {
        String health = process.health().orElse("");
        if (health.isEmpty() || !process.isAlive()) {
            return "";
        }
        String address = health.substring(0, health.lastIndexOf('/') + 1) + endpoint;
        try (HttpClient client = HttpClient.newHttpClient()) {
            HttpRequest request = HttpRequest.newBuilder(URI.create(address))
                    .timeout(Waits.seconds(2))
                    .build();
            return client.send(request, HttpResponse.BodyHandlers.ofString()).body();
        } catch (IOException e) {
            return "";
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return "";
        }
    }
}
