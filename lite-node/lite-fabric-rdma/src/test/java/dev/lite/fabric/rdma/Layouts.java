package dev.lite.fabric.rdma;

import java.util.Map;
import java.util.TreeMap;

/**
 * The sizes, offsets and constants of the C structures that Java assumes: {@code struct} is a size and {@code struct.field} an offset, in
 * bytes. One test compares them with the C compiler's values, so that other tests can compare codecs with them.
 */
final class Layouts {
    static final Map<String, Integer> ALL = new TreeMap<>();

    static {
        ALL.put("sockaddr_in", 16);
        ALL.put("sockaddr_in.sin_family", 0);
        ALL.put("sockaddr_in.sin_port", 2);
        ALL.put("sockaddr_in.sin_addr", 4);
        ALL.put("ibv_sge", 16);
        ALL.put("ibv_sge.addr", 0);
        ALL.put("ibv_sge.length", 8);
        ALL.put("ibv_sge.lkey", 12);
        ALL.put("ibv_send_wr", 128);
        ALL.put("ibv_send_wr.wr_id", 0);
        ALL.put("ibv_send_wr.next", 8);
        ALL.put("ibv_send_wr.sg_list", 16);
        ALL.put("ibv_send_wr.num_sge", 24);
        ALL.put("ibv_send_wr.opcode", 28);
        ALL.put("ibv_send_wr.send_flags", 32);
        ALL.put("ibv_send_wr.imm_data", 36);
        ALL.put("ibv_send_wr.wr.rdma.remote_addr", 40);
        ALL.put("ibv_send_wr.wr.rdma.rkey", 48);
        ALL.put("ibv_send_wr.wr.atomic.remote_addr", 40);
        ALL.put("ibv_send_wr.wr.atomic.compare_add", 48);
        ALL.put("ibv_send_wr.wr.atomic.swap", 56);
        ALL.put("ibv_send_wr.wr.atomic.rkey", 64);
        ALL.put("ibv_recv_wr", 32);
        ALL.put("ibv_recv_wr.wr_id", 0);
        ALL.put("ibv_recv_wr.next", 8);
        ALL.put("ibv_recv_wr.sg_list", 16);
        ALL.put("ibv_recv_wr.num_sge", 24);
        ALL.put("ibv_wc", 48);
        ALL.put("ibv_wc.wr_id", 0);
        ALL.put("ibv_wc.status", 8);
        ALL.put("ibv_wc.opcode", 12);
        ALL.put("ibv_wc.vendor_err", 16);
        ALL.put("ibv_wc.byte_len", 20);
        ALL.put("ibv_wc.imm_data", 24);
        ALL.put("ibv_wc.qp_num", 28);
        ALL.put("ibv_wc.src_qp", 32);
        ALL.put("ibv_wc.wc_flags", 36);
        ALL.put("ibv_wc.pkey_index", 40);
        ALL.put("ibv_wc.slid", 42);
        ALL.put("ibv_wc.sl", 44);
        ALL.put("ibv_wc.dlid_path_bits", 45);
        ALL.put("rdma_event_channel.fd", 0);
        ALL.put("ibv_comp_channel.fd", 8);
        ALL.put("IBV_WR_RDMA_WRITE", 0);
        ALL.put("IBV_WR_RDMA_WRITE_WITH_IMM", 1);
        ALL.put("IBV_WR_SEND", 2);
        ALL.put("IBV_WR_SEND_WITH_IMM", 3);
        ALL.put("IBV_WR_RDMA_READ", 4);
        ALL.put("IBV_WR_ATOMIC_CMP_AND_SWP", 5);
        ALL.put("IBV_WR_ATOMIC_FETCH_AND_ADD", 6);
        ALL.put("IBV_SEND_FENCE", 1);
        ALL.put("IBV_SEND_SIGNALED", 2);
        ALL.put("IBV_SEND_SOLICITED", 4);
        ALL.put("IBV_SEND_INLINE", 8);
        ALL.put("IBV_WC_SUCCESS", 0);
        ALL.put("IBV_WC_WR_FLUSH_ERR", 5);
        ALL.put("IBV_WC_REM_ACCESS_ERR", 10);
        ALL.put("IBV_WC_RETRY_EXC_ERR", 12);
        ALL.put("IBV_WC_RNR_RETRY_EXC_ERR", 13);
        ALL.put("IBV_WC_RECV", 128);
        ALL.put("IBV_WC_RECV_RDMA_WITH_IMM", 129);
        ALL.put("IBV_WC_WITH_IMM", 2);
        ALL.put("IBV_ACCESS_LOCAL_WRITE", 1);
        ALL.put("IBV_ACCESS_REMOTE_WRITE", 2);
        ALL.put("IBV_ACCESS_REMOTE_READ", 4);
        ALL.put("IBV_ACCESS_REMOTE_ATOMIC", 8);
        ALL.put("IBV_QPT_RC", 2);
        ALL.put("RDMA_PS_TCP", 0x106);
        ALL.put("RDMA_CM_EVENT_ADDR_RESOLVED", 0);
        ALL.put("RDMA_CM_EVENT_ROUTE_RESOLVED", 2);
        ALL.put("RDMA_CM_EVENT_CONNECT_REQUEST", 4);
        ALL.put("RDMA_CM_EVENT_CONNECT_ERROR", 6);
        ALL.put("RDMA_CM_EVENT_UNREACHABLE", 7);
        ALL.put("RDMA_CM_EVENT_REJECTED", 8);
        ALL.put("RDMA_CM_EVENT_ESTABLISHED", 9);
        ALL.put("RDMA_CM_EVENT_DISCONNECTED", 10);
        ALL.put("RDMA_CM_EVENT_DEVICE_REMOVAL", 11);
        ALL.put("RDMA_CM_EVENT_ADDR_CHANGE", 14);
        ALL.put("RDMA_CM_EVENT_TIMEWAIT_EXIT", 15);
    }

    private Layouts() {}
}
