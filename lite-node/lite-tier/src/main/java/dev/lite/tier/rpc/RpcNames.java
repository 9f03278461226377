package dev.lite.tier.rpc;

/** The names of functions and ports. A port is a function whose name begins with a prefix that no function's name has. */
final class RpcNames {
    private static final String PORT_PREFIX = "\0port:";

    private RpcNames() {}

    /** The function's name of a port. */
    static String ofPort(String port) {
        return PORT_PREFIX + port;
    }

    /** The name that the application gave to the function or port. */
    static String ofUser(String name) {
        return isPort(name) ? name.substring(PORT_PREFIX.length()) : name;
    }

    static boolean isPort(String name) {
        return name.startsWith(PORT_PREFIX);
    }

    /** The function or port, for messages. */
    static String describe(String name) {
        return isPort(name)
                ? "port \"%s\"".formatted(name.substring(PORT_PREFIX.length()))
                : "function \"%s\"".formatted(name);
    }

    /** Why a call of a function, or a message to a port, was not accepted. */
    static String notServed(String name, String node) {
        return (isPort(name) ? "no session has the %s open at node %s" : "nobody serves the %s at node %s")
                .formatted(describe(name), node);
    }
}
