package dev.lite.tier.sync;

import dev.lite.api.LiteTimeoutException;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcStatus;
import dev.lite.os.waiting.Deadline;
import dev.lite.tier.control.ControlChannel;
import dev.lite.tier.control.ControlKind;
import dev.lite.tier.control.ControlMessage;
import dev.lite.tier.sync.WordStore.Kind;
import dev.lite.tier.sync.WordStore.Named;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;

/**
 * The calls between nodes for locks and barriers. Each request begins with the word: LMR id, arena offset, extent table
 * entry; the called node knows its own arena and checks that the word is there.
 *
 * <p>Every call may be repeated, and may execute late or twice: a ticket, or a party and a round, identify it uniquely.
 * Any thread. Each call throws a {@link dev.lite.api.LiteException} if it gets no answer.
 */
final class SyncCalls {

    /** An answer that travels as a number. */
    interface Numbered {
        /** The number on the wire; never reused for another answer. */
        int number();
    }

    /** A home's answer to a node that waits with a ticket. */
    enum Place implements Numbered {
        /** The ticket is queued; {@link #turn} follows when it is the ticket's turn. */
        QUEUED(1),
        /** It is the ticket's turn. */
        HELD(2),
        /** The ticket was passed over: the home assumed that this node is dead. */
        PASSED(3);

        private final int number;

        Place(int number) {
            this.number = number;
        }

        @Override
        public int number() {
            return number;
        }
    }

    /** A node's answer to the notification of a ticket's turn. */
    enum Claim implements Numbered {
        /** The ticket belongs to this node, which wakes or woke its waiter. */
        TAKEN(1),
        /** The ticket does not belong to this node, or was abandoned. */
        UNKNOWN(2),
        /** A draw is in flight on this node: ask again. */
        UNDECIDED(3);

        private final int number;

        Claim(int number) {
            this.number = number;
        }

        @Override
        public int number() {
            return number;
        }
    }

    /** The state of a party. */
    enum Stage implements Numbered {
        /** The party is counted and waits. */
        WAITS(1),
        /** Its round passed. */
        PASSED(2),
        /** Its round is broken. */
        BROKEN(3),
        /** The party is not counted: another round is open. The answer contains that round's number. */
        OTHER_ROUND(4),
        /** The party is not counted: the word leaves this home, and the party must arrive again. */
        LEAVES(5);

        private final int number;

        Stage(int number) {
            this.number = number;
        }

        @Override
        public int number() {
            return number;
        }
    }

    /**
     * A home's answer about a party.
     *
     * @param round the party's round, or the open round
     * @param reason why the round broke; of {@link Stage#OTHER_ROUND}, why the home does not know whether the party was counted for
     *     its round; else empty
     */
    record BarrierStatus(Stage stage, long round, String reason) {}

    /** Maximum number of words in one question. */
    static final int WORDS_MAX = 128;

    private final int self;
    private final UUID arena;
    private final ControlChannel channel;

    /**
     * @param self this node's id
     * @param arena this node's arena
     */
    SyncCalls(int self, UUID arena, ControlChannel channel) {
        this.self = self;
        this.arena = arena;
        this.channel = channel;
    }

    /** Node → home: this node waits with this ticket. */
    Place queue(WordRef lock, long ticket, Deadline deadline) {
        ControlMessage request = request(lock).putLong(ticket);
        return read(Place.values(), channel.call(lock.home(), ControlKind.LOCK_QUEUE, request, deadline));
    }

    /**
     * {@link #queue} to another node, without waiting for its answer.
     *
     * @param deadline of the sending
     * @return completes as {@link ControlChannel#begin} says; for {@link #place}
     * @throws dev.lite.api.LiteException if it could not be sent
     */
    CompletableFuture<byte[]> beginQueue(WordRef lock, long ticket, Deadline deadline) {
        return channel.begin(lock.home(), ControlKind.LOCK_QUEUE, request(lock).putLong(ticket), deadline);
    }

    /** Waits for the answer of {@link #beginQueue}. */
    Place place(WordRef lock, CompletableFuture<byte[]> answer, Deadline deadline) {
        return read(Place.values(), channel.await(lock.home(), answer, deadline));
    }

    /** Whether this node is the word's home. */
    boolean isHome(WordRef word) {
        return word.home() == self;
    }

    /** Node → home: this ticket's holder released the lock. Does nothing if the ticket's turn is already over. */
    void release(WordRef lock, long ticket, Deadline deadline) {
        channel.call(lock.home(), ControlKind.LOCK_RELEASE, request(lock).putLong(ticket), deadline);
    }

    /**
     * {@link #release} without waiting for the answer. If the home does not get it, its audit notifies the next ticket.
     *
     * @throws dev.lite.api.LiteException if it could not be sent
     */
    void beginRelease(WordRef lock, long ticket, Deadline deadline) {
        if (isHome(lock)) {
            release(lock, ticket, deadline);
        } else {
            CompletableFuture<?> unused = channel.begin(
                    lock.home(), ControlKind.LOCK_RELEASE, request(lock).putLong(ticket), deadline);
        }
    }

    /** Node → home: a try found this lock taken, so the home checks that somebody still holds it. */
    void taken(WordRef lock, Deadline deadline) {
        channel.call(lock.home(), ControlKind.LOCK_TAKEN, request(lock), deadline);
    }

    /** Home → node: it is this ticket's turn. */
    Claim turn(int node, WordRef lock, long ticket, Deadline deadline) {
        ControlMessage request = request(lock).putLong(ticket);
        return read(Claim.values(), channel.call(node, ControlKind.LOCK_TURN, request, deadline));
    }

    /**
     * Node → home: a party arrives.
     *
     * @param unanswered runs if the request was sent and its answer is lost: the home may have counted the party
     */
    BarrierStatus arrive(WordRef barrier, long round, int parties, long party, Runnable unanswered, Deadline deadline) {
        ControlMessage request = request(barrier).putLong(round).putLong(party).putInt(parties);
        if (isHome(barrier)) {
            return readStatus(channel.call(self, ControlKind.BARRIER_ARRIVE, request, deadline));
        }
        CompletableFuture<byte[]> answer = channel.begin(barrier.home(), ControlKind.BARRIER_ARRIVE, request, deadline);
        try {
            return readStatus(channel.await(barrier.home(), answer, deadline));
        } catch (NodeUnreachableException | LiteTimeoutException e) {
            unanswered.run();
            throw e;
        }
    }

    /** Node → home: a party no longer waits, so its round breaks unless it has passed. */
    BarrierStatus leave(WordRef barrier, long round, long party, String reason, Deadline deadline) {
        ControlMessage request = request(barrier).putLong(round).putLong(party).putShortened(reason);
        return readStatus(channel.call(barrier.home(), ControlKind.BARRIER_LEAVE, request, deadline));
    }

    /** Home → node: a round is over. */
    void over(int node, WordRef barrier, BarrierStatus outcome, Deadline deadline) {
        ControlMessage request = request(barrier);
        put(request, outcome);
        channel.call(node, ControlKind.BARRIER_OVER, request, deadline);
    }

    /** Home → node: asks for the number of the node's parties of this round. */
    int parties(int node, WordRef barrier, long round, Deadline deadline) {
        ControlMessage request = request(barrier).putLong(round);
        return channel.call(node, ControlKind.BARRIER_PARTIES, request, deadline)
                .getInt();
    }

    /**
     * Node → home: this node begins to use a word. Returns its value: 0 if it is unborn, negative if it is dead or the home
     * has no such word. Then the home removes what is left of it, so that the name can have a new word.
     */
    long open(Named word, Deadline deadline) {
        return channel.call(word.ref().home(), ControlKind.WORD_OPEN, request(word), deadline)
                .getLong();
    }

    /** Node → home: no session of this node uses the word any more. */
    void left(Named word, Deadline deadline) {
        channel.call(word.ref().home(), ControlKind.WORD_LEFT, request(word), deadline);
    }

    /** Home → node: which of these words the node uses. */
    boolean[] used(int node, Kind kind, List<Long> lmrIds, Deadline deadline) {
        ControlMessage request =
                new ControlMessage().putByte(kind.number()).putCount("words", lmrIds.size(), WORDS_MAX);
        lmrIds.forEach(request::putLong);
        ControlMessage reply = channel.call(node, ControlKind.WORDS_USED, request, deadline);
        boolean[] used = new boolean[lmrIds.size()];
        for (int i = 0; i < used.length; i++) {
            used[i] = reply.getByte() != 0;
        }
        return used;
    }

    private static ControlMessage request(Named word) {
        return request(word.ref()).putByte(word.kind().number()).putName("a lock or barrier", word.name());
    }

    private Named named(ControlMessage request) {
        WordRef ref = word(request);
        Kind kind = read(Kind.values(), request);
        return new Named(kind, request.getName("a lock or barrier"), ref);
    }

    /** Registers this node's handlers of these calls. They do not block. */
    void serve(SyncService service) {
        channel.serve(ControlKind.LOCK_QUEUE, (node, request, reply) -> {
            Place place = service.queue(node, word(request), request.getLong());
            put(reply, place);
        });
        channel.serve(
                ControlKind.LOCK_RELEASE, (node, request, reply) -> service.release(word(request), request.getLong()));
        channel.serve(ControlKind.LOCK_TAKEN, (node, request, reply) -> service.taken(word(request)));
        channel.serve(ControlKind.LOCK_TURN, (node, request, reply) -> {
            Claim claim = service.turn(word(request), request.getLong());
            put(reply, claim);
        });
        channel.serve(ControlKind.BARRIER_ARRIVE, (node, request, reply) -> {
            WordRef word = word(request);
            long round = request.getLong();
            long party = request.getLong();
            put(reply, service.arrive(node, word, round, request.getInt(), party));
        });
        channel.serve(ControlKind.BARRIER_LEAVE, (node, request, reply) -> {
            WordRef word = word(request);
            long round = request.getLong();
            put(reply, service.leave(word, round, request.getLong(), request.getReason()));
        });
        channel.serve(
                ControlKind.BARRIER_OVER, (node, request, reply) -> service.over(word(request), readStatus(request)));
        channel.serve(
                ControlKind.BARRIER_PARTIES,
                (node, request, reply) -> reply.putInt(service.parties(word(request), request.getLong())));
        channel.serve(ControlKind.WORD_OPEN, (node, request, reply) -> reply.putLong(service.open(named(request))));
        channel.serve(ControlKind.WORD_LEFT, (node, request, reply) -> service.left(named(request)));
        channel.serve(ControlKind.WORDS_USED, (node, request, reply) -> {
            Kind kind = read(Kind.values(), request);
            for (int left = request.getCount("words", WORDS_MAX); left > 0; left--) {
                reply.putByte(service.uses(kind, request.getLong()) ? 1 : 0);
            }
        });
    }

    private static ControlMessage request(WordRef word) {
        return new ControlMessage().putLong(word.lmrId()).putLong(word.offset()).putInt(word.entry());
    }

    private WordRef word(ControlMessage request) {
        long lmrId = request.getLong();
        return new WordRef(self, arena, lmrId, request.getLong(), request.getInt());
    }

    private static void put(ControlMessage to, Numbered value) {
        to.putByte(value.number());
    }

    private static <E extends Numbered> E read(E[] values, ControlMessage from) {
        int number = from.getByte();
        for (E value : values) {
            if (value.number() == number) {
                return value;
            }
        }
        throw new RpcFailedException(
                RpcStatus.REFUSED, "the answer %d is none of %s".formatted(number, List.of(values)));
    }

    private static void put(ControlMessage to, BarrierStatus status) {
        put(to, status.stage());
        to.putLong(status.round()).putShortened(status.reason());
    }

    private static BarrierStatus readStatus(ControlMessage from) {
        Stage stage = read(Stage.values(), from);
        return new BarrierStatus(stage, from.getLong(), from.getReason());
    }
}
