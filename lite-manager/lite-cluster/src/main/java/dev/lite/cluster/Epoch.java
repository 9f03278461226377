package dev.lite.cluster;

import dev.lite.cluster.EpochStore.Ack;
import dev.lite.cluster.EpochStore.Known;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A numbered version of the cluster's membership, written by the leading manager. Immutable.
 *
 * <p>A removal names a node's id and an incarnation, and covers every process of that node up to that incarnation. It is
 * <b>pending</b> until every live node has cut its links to those processes and acknowledged it, and <b>fenced</b> from
 * then on: the removed processes can no longer touch anything, so what they owned may be given to others. Removals are kept
 * forever, because a process may be paused for any length of time: at most one fenced and one pending removal for each id.
 *
 * @param number 0 before the first epoch; grows by 1 with each change of the membership
 * @param members the nodes live when the epoch was made, in the order of their ids
 * @param removals in the order of the ids; the fenced removal of an id comes before the pending one
 */
public record Epoch(long number, List<Member> members, List<Removal> removals) {
    /** No epoch was made yet. */
    public static final Epoch NONE = new Epoch(0, List.of(), List.of());

    /**
     * A node that belongs to the cluster.
     *
     * @param id its id
     * @param name its stable name
     * @param incarnation identifies one registration of the node
     */
    public record Member(int id, String name, long incarnation) {}

    /**
     * The processes of a node that no longer belong to the cluster.
     *
     * @param id the node's number
     * @param name its stable name
     * @param incarnation the last removed incarnation; all earlier ones are removed, too
     * @param epoch the number of the epoch that removed it
     * @param fenced whether every live node has cut its links to it
     */
    public record Removal(int id, String name, long incarnation, long epoch, boolean fenced) {}

    /** Makes defensive copies. */
    public Epoch {
        members = List.copyOf(members);
        removals = List.copyOf(removals);
    }

    /** The removals that are not fenced yet. */
    public List<Removal> pending() {
        return removals.stream().filter(removal -> !removal.fenced()).toList();
    }

    /** The last removed incarnation of a node, fenced or not; 0 when none was removed. */
    public long removedUpTo(int id) {
        return upTo(id, false);
    }

    /** The last fenced incarnation of a node; 0 when none is fenced. */
    public long fencedUpTo(int id) {
        return upTo(id, true);
    }

    private long upTo(int id, boolean fencedOnly) {
        long upTo = 0;
        for (Removal removal : removals) {
            if (removal.id() == id && (removal.fenced() || !fencedOnly)) {
                upTo = Math.max(upTo, removal.incarnation());
            }
        }
        return upTo;
    }

    /** Whether an incarnation of a node was removed, fenced or not: no connection to it may be made or kept. */
    public boolean isRemoved(int id, long incarnation) {
        return incarnation <= removedUpTo(id);
    }

    /** Whether an incarnation of a node is fenced, so that what it owned may be given to others. */
    public boolean isFenced(int id, long incarnation) {
        return incarnation <= fencedUpTo(id);
    }

    /** The member with this id. */
    public Optional<Member> member(int id) {
        return members.stream().filter(member -> member.id() == id).findFirst();
    }

    /**
     * The next epoch, if the membership differs from this epoch's.
     *
     * @param live the registered nodes
     * @param known every node that ever had an id, read before {@code live}
     */
    Optional<Epoch> next(List<NodeRecord> live, Collection<Known> known) {
        List<Member> now = live.stream()
                .sorted(Comparator.comparingInt(NodeRecord::id))
                .map(node -> new Member(node.id(), node.name(), node.incarnation()))
                .toList();
        List<Removal> all = new ArrayList<>(removals);
        boolean anyRemoved = false;
        for (Known node : known) {
            long last = now.stream()
                    .filter(member -> member.id() == node.id())
                    .mapToLong(member -> member.incarnation() - 1)
                    .findFirst()
                    .orElse(node.lastIncarnation());
            if (last > removedUpTo(node.id())) {
                // The new removal includes a pending one; a fenced one stays.
                all.removeIf(removal -> removal.id() == node.id() && !removal.fenced());
                all.add(new Removal(node.id(), node.name(), last, number + 1, false));
                anyRemoved = true;
            }
        }
        if (!anyRemoved && now.equals(members)) {
            return Optional.empty();
        }
        all.sort(Comparator.comparingInt(Removal::id).thenComparingLong(Removal::incarnation));
        return Optional.of(new Epoch(number + 1, now, all));
    }

    /**
     * This epoch with every removal fenced that all members have acknowledged; empty if that changes nothing.
     *
     * <p>A removal waits for the acknowledgements of later ones. A node that was removed later may not have cut its links to
     * the first one's processes, and members may still use its memory: until they have acknowledged its own removal, a fenced
     * process could write to memory that a member uses.
     *
     * @param acks by node id
     */
    Optional<Epoch> fencedBy(Map<Integer, Ack> acks) {
        long acknowledged = number;
        for (Member member : members) {
            Ack ack = acks.get(member.id());
            long epoch = ack != null && ack.incarnation() == member.incarnation() ? ack.epoch() : 0;
            acknowledged = Math.min(acknowledged, epoch);
        }
        List<Removal> pending = pending();
        long lastRemoved = pending.stream().mapToLong(Removal::epoch).max().orElse(Long.MAX_VALUE);
        if (acknowledged < lastRemoved) {
            return Optional.empty();
        }
        List<Removal> all = new ArrayList<>(removals);
        for (Removal removal : pending) {
            all.removeIf(old -> old.id() == removal.id());
            all.add(new Removal(removal.id(), removal.name(), removal.incarnation(), removal.epoch(), true));
        }
        all.sort(Comparator.comparingInt(Removal::id).thenComparingLong(Removal::incarnation));
        return Optional.of(new Epoch(number, members, all));
    }

    @Override
    public String toString() {
        return "epoch %d of %s, pending %s".formatted(number, members, pending());
    }
}
