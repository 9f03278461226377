package dev.lite.tier.rpc;

import dev.lite.api.LiteTimeoutException;
import dev.lite.api.RpcMessages;
import dev.lite.api.RpcStatus;
import dev.lite.api.SessionLostException;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Durations;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A port: a function whose calls the node itself answers once their message is in this queue. While the queue is full,
 * calls wait without an answer, each up to its sender's deadline.
 *
 * <p>Limit: {@value #QUEUE_MAX} messages of at most {@link dev.lite.api.LtRpc#MESSAGE_BYTES_MAX} bytes each: 16 MiB.
 * {@link PortMemory} bounds what all ports of a principal hold.
 */
final class MessagePort implements RpcMessages {
    static final int QUEUE_MAX = 256;

    private static final byte[] NOTHING = {};

    private final String port;
    private final String principal;
    private final FunctionServer server;
    private final PortMemory memory;
    private final Consumer<MessagePort> whenEnded;
    private final Runnable whenRoom = this::roomMade;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition filled = lock.newCondition();
    private final Condition emptied = lock.newCondition();
    private final ArrayDeque<Message> queue = new ArrayDeque<>();
    private boolean closed;

    /**
     * @param principal the port's owner
     * @param whenEnded called when the queue has ended, perhaps more than once
     */
    MessagePort(
            String port, String principal, FunctionServer server, PortMemory memory, Consumer<MessagePort> whenEnded) {
        this.whenEnded = whenEnded;
        this.port = port;
        this.principal = principal;
        this.server = server;
        this.memory = memory;
    }

    /** Queues messages until the port or its session is closed. Runs on a virtual thread. */
    void fill() {
        server.forEachCall(call -> {
            byte[] bytes = call.message();
            if (!memory.enter(principal, PortMemory.bytes(bytes))) {
                call.fail(RpcStatus.OVERLOADED, 0, "too many messages wait at the ports of the receiver");
            } else if (put(new Message(call.callerNode(), call.callerPrincipal(), bytes))) {
                call.reply(NOTHING);
            } else {
                call.fail(RpcStatus.NOT_SERVED, 0, "the port was closed");
            }
        });
        endQueue();
    }

    private boolean put(Message message) {
        long bytes = PortMemory.bytes(message.data());
        lock.lock();
        try {
            while (!closed && !tryQueue(bytes)) {
                emptied.awaitUninterruptibly();
            }
            if (!closed) {
                queue.add(message);
                filled.signal();
                return true;
            }
        } finally {
            lock.unlock();
        }
        memory.leave(principal, bytes);
        return false;
    }

    private boolean tryQueue(long bytes) {
        return queue.size() < QUEUE_MAX && memory.tryQueue(principal, bytes, queue.isEmpty(), whenRoom);
    }

    private void roomMade() {
        lock.lock();
        try {
            emptied.signal();
        } finally {
            lock.unlock();
        }
    }

    @Override
    public String port() {
        return port;
    }

    @Override
    public Message receive(Duration duration) {
        Durations.requirePositive(duration);
        Message message = take(duration);
        memory.unqueued(principal, PortMemory.bytes(message.data()));
        return message;
    }

    private Message take(Duration duration) {
        Deadline deadline = Deadline.in(duration);
        lock.lock();
        try {
            while (true) {
                @Nullable Message message = closed ? null : queue.poll();
                if (message != null) {
                    emptied.signal();
                    return message;
                }
                if (closed) {
                    throw new SessionLostException("the port \"%s\" was closed".formatted(port));
                }
                if (filled.awaitNanos(deadline.remainingNs()) <= 0 && queue.isEmpty() && !closed) {
                    throw new LiteTimeoutException(
                            "no message came to the port \"%s\" within %s".formatted(port, Durations.text(duration)));
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new SessionLostException("interrupted while waiting at the port \"%s\"".formatted(port), e);
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void close() {
        endQueue();
        server.close();
    }

    private void endQueue() {
        long bytes = 0;
        lock.lock();
        try {
            closed = true;
            for (Message dropped : queue) {
                bytes += PortMemory.bytes(dropped.data());
            }
            queue.clear();
            filled.signalAll();
            emptied.signalAll();
        } finally {
            lock.unlock();
        }
        memory.unqueued(principal, bytes);
        whenEnded.accept(this);
    }
}
