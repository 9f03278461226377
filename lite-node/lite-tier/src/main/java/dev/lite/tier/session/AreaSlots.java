package dev.lite.tier.session;

import dev.lite.api.LiteException;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcStatus;
import dev.lite.os.RawMemory;
import dev.lite.os.waiting.RepeatedLines;
import dev.lite.session.protocol.CompletionBell;
import dev.lite.session.protocol.SessionArea;
import dev.lite.session.protocol.SessionProtocol;
import dev.lite.session.protocol.SessionProtocol.Op;
import dev.lite.session.wire.WireError;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The slots of a session's {@link SessionArea}, as the threads see them that execute its commands. Any thread. */
final class AreaSlots implements RpcCommands.Slots {
    private static final Logger LOG = LoggerFactory.getLogger(AreaSlots.class);

    private final String session;
    private final long base;
    private final SessionArea area;
    private final SessionWatch watch;
    private final RepeatedLines lines;
    private final CompletionBell bell;

    /**
     * @param session the session's name in messages
     * @param base where the area is mapped; it must stay mapped while a command is under way
     */
    AreaSlots(String session, long base, SessionArea area, SessionWatch watch, RepeatedLines lines) {
        this.session = session;
        this.lines = lines;
        this.base = base;
        this.area = area;
        this.watch = watch;
        bell = new CompletionBell(base);
    }

    @Override
    public long window(int slot) {
        return base + area.windowOffset(slot);
    }

    @Override
    public int windowBytes() {
        return area.windowBytes();
    }

    @Override
    public void received(int slot, long call, long origin, int contextBytes, int replyBytesMax) {
        long at = base + SessionArea.slotOffset(slot);
        RawMemory.putLong(at + SessionArea.CALL, call);
        RawMemory.putLong(at + SessionArea.ORIGIN, origin);
        RawMemory.putInt(at + SessionArea.CONTEXT, contextBytes);
        RawMemory.putInt(at + SessionArea.REPLY_BYTES_MAX, replyBytesMax);
        RawMemory.putInt(at + SessionArea.FURTHER, 0);
    }

    @Override
    public void received(int slot, int further) {
        RawMemory.putInt(base + SessionArea.slotOffset(slot) + SessionArea.FURTHER, further);
    }

    @Override
    public void fail(int slot, LiteException error) {
        byte[] bytes = WireError.bytes(error, Math.min(SessionProtocol.TEXT_BYTES_MAX, area.windowBytes()));
        MemorySegment.copy(
                bytes, 0, RawMemory.all(), ValueLayout.JAVA_BYTE, base + area.windowOffset(slot), bytes.length);
        complete(slot, error.code().number(), bytes.length);
    }

    /**
     * Completes a slot with the failure of its operation. A failure that is no refusal is the node's own, and is logged.
     *
     * @param op from {@link Op}
     */
    void fail(int slot, int op, Throwable failure) {
        if (failure instanceof LiteException refused) {
            fail(slot, refused);
            return;
        }
        String suffix = lines.suffix("failed");
        if (suffix != null) {
            LOG.error("{}: {} failed{}", session, Op.nameOf(op), suffix, failure);
        }
        fail(
                slot,
                new RpcFailedException(
                        RpcStatus.UNKNOWN, "%s failed in the node: %s".formatted(Op.nameOf(op), failure)));
    }

    @Override
    public void complete(int slot, int status, long result) {
        long at = base + SessionArea.slotOffset(slot);
        RawMemory.putInt(at + SessionArea.STATUS, status);
        RawMemory.putLong(at + SessionArea.RESULT, result);
        boolean unused = bell.done(slot);
    }

    @Override
    public void waitsUntil(long deadlineNs) {
        watch.wakeBy(deadlineNs);
    }
}
