package dev.lite.os;

import java.net.Inet6Address;
import java.net.InetAddress;
import java.util.Arrays;
import java.util.HexFormat;

/**
 * What one host of the network is counted by, for limits of strangers. A host of IPv4 has its address. A host of IPv6 usually has a
 * network of 2^64 addresses, so all of them count as one. An IPv4 address that is mapped into IPv6 counts as IPv4.
 */
public final class HostNetwork {
    private static final int IPV6_NETWORK_BYTES = 8;

    private HostNetwork() {}

    /** The network of the host with this address. */
    public static String of(InetAddress address) {
        return address instanceof Inet6Address // never a mapped one: Java makes those IPv4 addresses
                ? HexFormat.of().formatHex(Arrays.copyOf(address.getAddress(), IPV6_NETWORK_BYTES))
                : address.getHostAddress();
    }

    /** {@link #of(InetAddress)} of an address in its textual form. A text that is no address counts by itself. */
    public static String of(String address) {
        int zone = address.indexOf('%');
        try {
            return of(InetAddress.ofLiteral(zone < 0 ? address : address.substring(0, zone)));
        } catch (IllegalArgumentException noAddress) {
            return address;
        }
    }
}
