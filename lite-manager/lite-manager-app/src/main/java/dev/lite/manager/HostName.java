package dev.lite.manager;

import java.net.InetAddress;
import java.net.UnknownHostException;

/** This host's name. */
final class HostName {
    private HostName() {}

    static String get() {
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
