package dev.lite.demo;

import java.util.List;

/**
 * A sample in {@code lite-starter/lite-samples}.
 *
 * @param name the name of its directory, and in commands
 * @param services what it starts
 */
record Sample(String name, List<Service> services) {

    static final Sample PRICE_BOARD = new Sample(
            "price-board",
            List.of(Service.serving("publisher", 1), Service.ending("viewer", 2), Service.ending("viewer", 3)));

    static final Sample ORDER_COUNTER = new Sample(
            "order-counter",
            List.of(Service.serving("warehouse", 1), Service.ending("shop", 2), Service.ending("shop", 3)));

    static final Sample THUMBNAIL_RPC = new Sample(
            "thumbnail-rpc",
            List.of(
                    Service.ending("gallery", 1),
                    Service.serving("thumbnailer", 2),
                    Service.serving("thumbnailer", 3)));

    static final List<Sample> ALL = List.of(PRICE_BOARD, ORDER_COUNTER, THUMBNAIL_RPC);

    /** The number of nodes that the samples need. */
    static final int NODES = 3;

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

    /**
     * The sample of this name.
     *
     * @throws DemoFailedException if there is none
     */
    static Sample of(String name) {
        return ALL.stream()
                .filter(sample -> sample.name().equals(name))
                .findFirst()
                .orElseThrow(() -> new DemoFailedException("lite.sample is \"%s\"; it must be one of %s"
                        .formatted(name, ALL.stream().map(Sample::name).toList())));
    }
}
