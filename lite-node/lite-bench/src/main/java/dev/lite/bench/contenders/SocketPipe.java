package dev.lite.bench.contenders;

import dev.lite.os.waiting.StagedWait;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import org.jspecify.annotations.Nullable;

/** Sends and receives whole buffers. A polling one waits in LITE's stages before it blocks in a selector. Used by one thread at a time. */
final class SocketPipe implements AutoCloseable {
    /** As many as a LITE node makes on its own sockets before it blocks. */
    private static final int POLLS = 250;

    private final SocketChannel channel;
    private final @Nullable Selector selector;
    private final StagedWait wait = new StagedWait(Runtime.getRuntime().availableProcessors() == 1 ? 0 : POLLS);

    SocketPipe(SocketChannel channel, boolean polling) throws IOException {
        this.channel = channel;
        channel.socket().setTcpNoDelay(true);
        if (polling) {
            channel.configureBlocking(false);
            selector = Selector.open();
            channel.register(selector, SelectionKey.OP_READ);
        } else {
            selector = null;
        }
    }

    /** Sends all of the buffer. */
    void send(ByteBuffer buffer) throws IOException {
        send(buffer, buffer.capacity());
    }

    /** Sends the first bytes of the buffer. */
    void send(ByteBuffer buffer, int bytes) throws IOException {
        buffer.clear().limit(bytes);
        while (buffer.hasRemaining()) {
            if (channel.write(buffer) == 0) {
                Thread.onSpinWait();
            }
        }
    }

    /** Receives until the buffer is full; false when the peer has closed the connection. */
    boolean receive(ByteBuffer buffer) throws IOException {
        buffer.clear();
        return receive(buffer, buffer.capacity());
    }

    /** Receives what there is until the buffer's position is at least this one; false when the peer has closed the connection. */
    boolean receive(ByteBuffer buffer, int position) throws IOException {
        int left = wait.begin(1);
        while (buffer.position() < position) {
            int got = channel.read(buffer);
            if (got < 0) {
                return false;
            }
            if (got == 0 && selector != null) {
                if (left == 0) {
                    selector.select();
                    selector.selectedKeys().clear();
                    left = wait.begin(1);
                } else {
                    left = wait.pause(left);
                }
            }
        }
        wait.hit(left);
        return true;
    }

    @Override
    public void close() throws IOException {
        if (selector != null) {
            selector.close();
        }
        channel.close();
    }
}
