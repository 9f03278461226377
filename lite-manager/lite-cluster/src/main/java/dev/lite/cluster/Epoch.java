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
 * The cluster's membership as the leading manager has numbered it (architecture §9). Immutable.
 *
 * <p>Who was removed is named by its node's id and an incarnation, and means every process of that node up to that
 * incarnation. A removal is <b>pending</b> until every live node has cut its links to those processes and said so, and
 * <b>fenced</b> from then on: nothing that they were given is theirs any more, since they cannot touch it. Removals stay
 * listed for ever, because a process may have been paused for any time: at most one fenced and one pending for each id.
 *
 * @param number 0 before there was any; grows by 1 with each change of the membership
 * @param members the live nodes when it was made, in the order of their ids
 * @param removals in the order of the ids, the fenced one of an id before its pending one
 */
public record Epoch(long number, List<Member> members, List<Removal> removals) {
    /** No leader has numbered anything yet. */
    public static final Epoch NONE = new Epoch(0, List.of(), List.of());

    /**
     * A node that belongs to the cluster.
     *
     * @param id its number
     * @param name its stable name
     * @param incarnation which of its processes and sessions
     */
    public record Member(int id, String name, long incarnation) {}

    /**
     * A node's processes that do not belong to the cluster any more.
     *
     * @param id the node's number
     * @param name its stable name
     * @param incarnation this one and every one before
     * @param epoch the number of the epoch that removed it
     * @param fenced whether every live node has cut its links to it
     */
    public record Removal(int id, String name, long incarnation, long epoch, boolean fenced) {}

    /** Copies. */
    public Epoch {
        members = List.copyOf(members);
        removals = List.copyOf(removals);
    }

    /** The removals that are not fenced yet. */
    public List<Removal> pending() {
        return removals.stream().filter(removal -> !removal.fenced()).toList();
    }

    /** The last incarnation of a node that was removed, fenced or not; 0 when none was. */
    public long removedUpTo(int id) {
        return upTo(id, false);
    }

    /** The last incarnation of a node that is fenced; 0 when none is. */
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

    /** Whether a process of a node was removed, fenced or not: no connection with it may be made or kept. */
    public boolean isRemoved(int id, long incarnation) {
        return incarnation <= removedUpTo(id);
    }

    /** Whether a process of a node can touch nothing any more, so that what it had may be given to others. */
    public boolean isFenced(int id, long incarnation) {
        return incarnation <= fencedUpTo(id);
    }

    /** The member of that id. */
    public Optional<Member> member(int id) {
        return members.stream().filter(member -> member.id() == id).findFirst();
    }

    /**
     * The next epoch when the membership is another one than this epoch's.
     *
     * @param live the registered nodes
     * @param known every node that ever had an id, each as it was before {@code live} was looked at
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
                // One that was pending is part of it now; what is fenced stays fenced.
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
     * The same epoch after every removal is fenced that all members have acknowledged.
     *
     * @param acks by id
     */
    Optional<Epoch> fencedBy(Map<Integer, Ack> acks) {
        long acknowledged = number;
        for (Member member : members) {
            Ack ack = acks.get(member.id());
            long epoch = ack != null && ack.incarnation() == member.incarnation() ? ack.epoch() : 0;
            acknowledged = Math.min(acknowledged, epoch);
        }
        List<Removal> all = new ArrayList<>(removals);
        for (Removal removal : pending()) {
            if (removal.epoch() <= acknowledged) {
                all.removeIf(old -> old.id() == removal.id());
                all.add(new Removal(removal.id(), removal.name(), removal.incarnation(), removal.epoch(), true));
            }
        }
        if (all.size() == removals.size() && all.containsAll(removals)) {
            return Optional.empty();
        }
        all.sort(Comparator.comparingInt(Removal::id).thenComparingLong(Removal::incarnation));
        return Optional.of(new Epoch(number, members, all));
    }

    @Override
    public String toString() {
        return "epoch %d of %s, pending %s".formatted(number, members, pending());
    }
}
