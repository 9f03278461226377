package dev.lite.demo;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/** The samples in {@code lite-starter/lite-samples}, with the services that each of them starts. */
enum Sample {
    PRICE_BOARD(Service.serving("publisher", 1), Service.ending("viewer", 2), Service.ending("viewer", 3)),
    ORDER_COUNTER(Service.serving("warehouse", 1), Service.ending("shop", 2), Service.ending("shop", 3)),
    THUMBNAIL_RPC(Service.ending("gallery", 1), Service.serving("thumbnailer", 2), Service.serving("thumbnailer", 3));

    /**
     * One process of a sample.
     *
     * @param profile the Spring profile that chooses the service; also its principal
     * @param node the number of the node to which it attaches
     * @param ends whether it ends by itself, and the sample with it; otherwise it serves until it is stopped
     */
    record Service(String profile, int node, boolean ends) {

        static Service serving(String profile, int node) {
            return new Service(profile, node, false);
        }

        static Service ending(String profile, int node) {
            return new Service(profile, node, true);
        }

        String processName() {
            return profile + "-" + node;
        }
    }

    /** The number of nodes that the samples need. */
    static final int NODES = 3;

    private final List<Service> services;

    Sample(Service... services) {
        this.services = List.of(services);
    }

    List<Service> services() {
        return services;
    }

    /** The name of its directory, and in commands. */
    String directory() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    /**
     * The sample of this name.
     *
     * @throws DemoFailedException if there is none
     */
    static Sample of(String name) {
        return Arrays.stream(values())
                .filter(sample -> sample.directory().equals(name))
                .findFirst()
                .orElseThrow(() -> new DemoFailedException("lite.sample is \"%s\"; it must be one of %s"
                        .formatted(
                                name,
                                Arrays.stream(values()).map(Sample::directory).toList())));
    }
}
