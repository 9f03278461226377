package dev.lite.tier.lmr;

import dev.lite.api.LmrUnavailableException;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcStatus;
import dev.lite.cluster.LmrRecord;
import dev.lite.os.waiting.Deadline;
import dev.lite.tier.control.ControlChannel;
import dev.lite.tier.control.ControlKind;
import dev.lite.tier.control.ControlMessage;

/**
 * The calls between nodes about existing LMRs. Each {@code serve…} method registers handlers for some of them at this
 * node. A request carries the remaining time of its deadline, so a handler stops when its caller has given up. Any
 * thread; blocks.
 */
public final class LmrCalls {
    /** The maximum bytes of a record in one reply; a record of one extent has about 120. */
    private static final int PAGE_BYTES = ControlMessage.BYTES_MAX - 8;

    /** How often a record may change while this node fetches its pages. */
    private static final int TRIES = 16;

    private final ControlChannel channel;

    LmrCalls(ControlChannel channel) {
        this.channel = channel;
    }

    /** Registers the reading of records of anonymous LMRs that this node created. */
    void serveRecords(LmrRecords records) {
        channel.serve(ControlKind.RECORD, (node, request, reply) -> {
            long lmrId = request.getLong();
            int wanted = request.getInt();
            int from = request.getCount("bytes before the page", Integer.MAX_VALUE);
            LmrRecords.Found found = records.findFor(node, lmrId, request.getName("the principal"), wanted);
            byte[] bytes = found.lmr().encode();
            int begin = Math.min(from, bytes.length); // the record may be shorter than the one of the page before
            reply.putInt(found.version())
                    .putInt(bytes.length)
                    .putBytes(bytes, begin, Math.min(PAGE_BYTES, bytes.length - begin));
        });
    }

    /** Registers the changes of this node's mappings. */
    void serveMappings(MappingChanges changes) {
        channel.serve(ControlKind.REFRESH, (node, request, reply) -> {
            long lmrId = request.getLong();
            changes.refresh(lmrId, request.getDeadline());
        });
        channel.serve(ControlKind.REVOKE, (node, request, reply) -> changes.revoke(request.getLong()));
    }

    /** A master's change of an anonymous LMR at the node that created it. */
    interface Change {
        /**
         * Makes the change.
         *
         * @param object the grantee, or the target node of a move
         */
        void carryOut(long lmrId, String principal, String object, int permissions, Deadline deadline);
    }

    /** Registers a change of anonymous LMRs that this node created. */
    void serveChange(ControlKind kind, Change change) {
        channel.serve(kind, (node, request, reply) -> {
            long lmrId = request.getLong();
            Deadline deadline = request.getDeadline();
            int permissions = request.getInt();
            String principal = request.getName("the principal");
            change.carryOut(lmrId, principal, request.getName("the grantee or node"), permissions, deadline);
        });
    }

    /** Moves the part of an anonymous LMR, which this node created, away from a node. */
    public interface Evacuation {
        void evacuate(long lmrId, int node, Deadline deadline);
    }

    /** Registers an {@link Evacuation}. */
    public void serveEvacuation(Evacuation evacuation) {
        channel.serve(ControlKind.EVACUATE, (caller, request, reply) -> {
            long lmrId = request.getLong();
            int node = request.getInt();
            evacuation.evacuate(lmrId, node, request.getDeadline());
        });
    }

    /** Fetches the record of an anonymous LMR from the node that created it, which checks {@code wanted}. */
    LmrRecord record(long lmrId, String principal, int wanted, Deadline deadline) {
        for (int tries = 0; tries < TRIES; tries++) {
            ControlMessage first = page(lmrId, principal, wanted, 0, deadline);
            int version = first.getInt();
            byte[] bytes = new byte[first.getCount("bytes of a record", Integer.MAX_VALUE)];
            int at = take(first, bytes, 0);
            boolean same = true;
            while (same && at < bytes.length) {
                ControlMessage next = page(lmrId, principal, wanted, at, deadline);
                same = next.getInt() == version && next.getInt() == bytes.length;
                at = same ? take(next, bytes, at) : at;
            }
            if (same) {
                return LmrRecord.decode(bytes);
            }
        }
        throw new LmrUnavailableException(
                "the record of LMR %d changed %d times while it was read".formatted(lmrId, TRIES));
    }

    private ControlMessage page(long lmrId, String principal, int wanted, int from, Deadline deadline) {
        ControlMessage request =
                new ControlMessage().putLong(lmrId).putInt(wanted).putInt(from).putName("the principal", principal);
        return channel.call(LmrRecords.creator(lmrId), ControlKind.RECORD, request, deadline);
    }

    /** Returns the start of the next page. */
    private static int take(ControlMessage page, byte[] bytes, int at) {
        int count = Math.min(PAGE_BYTES, bytes.length - at);
        if (page.remaining() != count) {
            throw new RpcFailedException(
                    RpcStatus.REFUSED,
                    "a page of a record of %d bytes, from byte %d on, has %d bytes; it must have %d"
                            .formatted(bytes.length, at, page.remaining(), count));
        }
        page.getBytes(bytes, at, count);
        return at + count;
    }

    /** Makes every mapping of an LMR at a node follow its record; returns when no operation there uses a former one. */
    void refresh(int node, long lmrId, Deadline deadline) {
        ControlMessage request = new ControlMessage().putLong(lmrId).putDeadline(deadline);
        channel.call(node, ControlKind.REFRESH, request, deadline);
    }

    /** Ends every mapping of an LMR at a node; returns when nobody there can touch its memory. */
    void revoke(int node, long lmrId, Deadline deadline) {
        channel.call(node, ControlKind.REVOKE, new ControlMessage().putLong(lmrId), deadline);
    }

    void freeAtCreator(long lmrId, String principal, Deadline deadline) {
        change(ControlKind.FREE_LMR, lmrId, principal, "", 0, deadline);
    }

    void grantAtCreator(long lmrId, String principal, String grantee, int permissions, Deadline deadline) {
        change(ControlKind.GRANT, lmrId, principal, grantee, permissions, deadline);
    }

    void moveAtCreator(long lmrId, String principal, String node, Deadline deadline) {
        change(ControlKind.MOVE, lmrId, principal, node, 0, deadline);
    }

    /** Asks the creator of an anonymous LMR to move its part on a node away from there. */
    public void evacuateAtCreator(long lmrId, int node, Deadline deadline) {
        ControlMessage request =
                new ControlMessage().putLong(lmrId).putInt(node).putDeadline(deadline);
        channel.call(LmrRecords.creator(lmrId), ControlKind.EVACUATE, request, deadline);
    }

    private void change(
            ControlKind kind, long lmrId, String principal, String object, int permissions, Deadline deadline) {
        ControlMessage request = new ControlMessage()
                .putLong(lmrId)
                .putDeadline(deadline)
                .putInt(permissions)
                .putName("the principal", principal)
                .putName("the grantee or node", object);
        channel.call(LmrRecords.creator(lmrId), kind, request, deadline);
    }
}
