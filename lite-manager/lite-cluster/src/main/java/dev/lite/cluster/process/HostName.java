package dev.lite.cluster.process;

import java.net.InetAddress;
import java.net.UnknownHostException;

/** This host's name. */
public final class HostName {
    private HostName() {}

    /** The name that the system has for itself; {@code localhost} when it has none. */
    public static String get() {
        try {
            return InetAddress.getLocalHost().getHostName();
        } catch (UnknownHostException e) {
            // The name is there, only its address is not: "name: Name or service not known".
            String message = String.valueOf(e.getMessage());
            int colon = message.indexOf(':');
            return colon > 0 ? message.substring(0, colon) : "localhost";
        }
    }
}
