package dev.lite.session.channel;

import dev.lite.os.TcpSocket;
import dev.lite.os.wire.PlainWire;
import dev.lite.os.wire.SealedWire;
import dev.lite.os.wire.Wire;

/**
 * The connection of a channel between hosts, which the nodes have made.
 *
 * @param socket the TCP connection; the link closes it
 * @param wire over that socket
 */
public record LinkSocket(TcpSocket socket, Wire wire) {

    /**
     * Takes over the descriptor of a TCP connection.
     *
     * @param keys how to encrypt it
     */
    public static LinkSocket of(int descriptor, LinkKeys keys) {
        return of(TcpSocket.adopt(descriptor, "a channel"), keys);
    }

    static LinkSocket of(TcpSocket socket, LinkKeys keys) {
        try {
            PlainWire plain = new PlainWire(socket);
            return new LinkSocket(socket, keys.isNone() ? plain : new SealedWire(plain, keys.send(), keys.receive()));
        } catch (RuntimeException | Error e) { // for example no memory for the buffers
            socket.close();
            throw e;
        }
    }
}
