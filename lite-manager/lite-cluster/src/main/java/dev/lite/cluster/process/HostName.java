package dev.lite.cluster.process;

import java.net.InetAddress;
import java.net.UnknownHostException;

/** This host's name. */
public final class HostName {
    private HostName() {}

    /** The system's own host name; {@code localhost} when it has none. */
    public static String get() {
        try {
            return InetAddress.getLocalHost().getHostName();
        } catch (UnknownHostException e) {
            // The name exists, but does not resolve: "name: Name or service not known".
            String message = String.valueOf(e.getMessage());
            int colon = message.indexOf(':');
            return colon > 0 ? message.substring(0, colon) : "localhost";
        }
    }
}
