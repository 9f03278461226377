package dev.lite.session.channel;

import dev.lite.os.RawMemory;
import java.util.concurrent.atomic.AtomicLong;

/** The server's end of a link: receives requests and sends replies. */
final class ServerLink extends ChannelLink {
    private final RequestBell bell;
    /** A bit for each slot with a request that was not answered. */
    private final AtomicLong open = new AtomicLong();

    /** Whether it was put into the set of {@link ReadyLinks}. */
    volatile boolean isInSet;

    ServerLink(ChannelMemory memory, RequestBell bell, LinkSocket socket, LinkWatch watch) {
        super(memory, socket, watch);
        this.bell = bell;
    }

    /** {@link #start}, and polls together with the other servers' links. */
    void startTogether() {
        start();
        watch.ready().add(this);
    }

    /**
     * Sends what was left, and receives what is there. Never blocks.
     *
     * @param amongMany whether the thread does this for many links in turn
     */
    void look(boolean amongMany) {
        sendNow();
        if (!amongMany || hasHidden() || !watch.ready().poll(this)) {
            boolean unused = poll();
        }
    }

    /** The request of a slot was dropped, since its caller does not wait any more. */
    void dropped(int slot) {
        RawMemory.putInt(memory.slot(slot) + ChannelArea.STATUS, 0);
        RawMemory.putInt(memory.slot(slot) + ChannelArea.REPLY_LENGTH, 0);
        send(slot);
    }

    /** Sends the reply of a slot, or leaves it to a thread that looks for requests. Never blocks. */
    void reply(int slot) {
        if (bell.bits() != 0 && sendsOften()) {
            note(slot); // a handler's thread sends after the last request, or the watching thread does
            watch.left();
        } else {
            leave(slot);
        }
    }

    @Override
    boolean isPolled() {
        return isVirtuallyPolled() || bell.bits() != 0; // a handler's thread sends after the last request
    }

    @Override
    int prepare(int slot, long header) {
        int word = RawMemory.getIntVolatile(memory.word(slot));
        int status = RawMemory.getInt(memory.slot(slot) + ChannelArea.STATUS);
        int length = RawMemory.getInt(memory.slot(slot) + ChannelArea.REPLY_LENGTH);
        LinkFrame.put(header, LinkFrame.REPLY, slot, SlotWord.generation(word), status, length);
        // Before it is sent: the next request may come at once.
        open.getAndUpdate(bits -> bits & ~(1L << slot));
        return length;
    }

    @Override
    public int check(int kind, int slot, int generation, int first, int second) {
        boolean isOpen = (open.get() & 1L << slot) != 0;
        if (kind == LinkFrame.CANCEL) {
            if (isOpen) {
                noteCancelled(slot, generation);
            }
            return 0; // its reply may have crossed it
        }
        if (kind != LinkFrame.REQUEST) {
            memory.endFor("the kind of a frame to a server", kind, LinkFrame.REQUEST + " or " + LinkFrame.CANCEL);
            return NOTHING;
        }
        if (isOpen) {
            memory.endFor("a slot with a call that is not answered was submitted again", slot, "free");
            return NOTHING;
        }
        if (generation != SlotWord.generation(SlotWord.of(generation, SlotWord.PENDING))) {
            memory.endFor("the generation of a request in slot " + slot, generation, "one of a word");
            return NOTHING;
        }
        int length = first & ChannelArea.LENGTH_MASK;
        if (length > area.windowBytes()) {
            memory.endFor("the length of the request in slot " + slot, length, "0 to " + area.windowBytes());
            return NOTHING;
        }
        return length;
    }

    /** As a caller on this host does; see {@link ChannelCaller}. */
    private void noteCancelled(int slot, int generation) {
        long word = memory.word(slot);
        int cancelled = SlotWord.of(generation, SlotWord.CANCELLED);
        if (!RawMemory.compareAndSetInt(word, SlotWord.of(generation, SlotWord.PENDING), cancelled)) {
            boolean unused = RawMemory.compareAndSetInt(word, SlotWord.of(generation, SlotWord.TAKEN), cancelled);
        }
    }

    @Override
    public void arrived(int kind, int slot, int generation, int first, int second) {
        if (kind == LinkFrame.CANCEL) {
            return;
        }
        open.getAndUpdate(bits -> bits | 1L << slot);
        RawMemory.putInt(memory.slot(slot) + ChannelArea.REQUEST_LENGTH, first);
        RawMemory.putInt(memory.slot(slot) + ChannelArea.CAPACITY, second);
        RawMemory.putIntRelease(memory.word(slot), SlotWord.of(generation, SlotWord.PENDING));
        if (!bell.submit(slot) && isWatched()) {
            bell.ringAgain(); // the thread that is awake may be busy for long
        }
    }

    @Override
    Again again() {
        return switch (bell.value()) {
            case RequestBell.RING -> Again.NOW;
            case RequestBell.AWAKE -> Again.LATER;
            default -> Again.NEVER;
        };
    }
}
