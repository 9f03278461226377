/* Prints the C compiler's sizes, offsets and constants of the structures that Java reads and writes, one NAME=VALUE per line. */
#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <rdma/rdma_cma.h>
#include <stddef.h>
#include <stdio.h>

#define SIZE(type) printf(#type "=%zu\n", sizeof(struct type))
#define FIELD(type, field) printf(#type "." #field "=%zu\n", offsetof(struct type, field))
#define NUMBER(name) printf(#name "=%d\n", (int)(name))

int main(void)
{
	SIZE(sockaddr_in);
	FIELD(sockaddr_in, sin_family);
	FIELD(sockaddr_in, sin_port);
	FIELD(sockaddr_in, sin_addr);
	SIZE(ibv_sge);
	FIELD(ibv_sge, addr);
	FIELD(ibv_sge, length);
	FIELD(ibv_sge, lkey);
	SIZE(ibv_send_wr);
	FIELD(ibv_send_wr, wr_id);
	FIELD(ibv_send_wr, next);
	FIELD(ibv_send_wr, sg_list);
	FIELD(ibv_send_wr, num_sge);
	FIELD(ibv_send_wr, opcode);
	FIELD(ibv_send_wr, send_flags);
	FIELD(ibv_send_wr, imm_data);
	FIELD(ibv_send_wr, wr.rdma.remote_addr);
	FIELD(ibv_send_wr, wr.rdma.rkey);
	FIELD(ibv_send_wr, wr.atomic.remote_addr);
	FIELD(ibv_send_wr, wr.atomic.compare_add);
	FIELD(ibv_send_wr, wr.atomic.swap);
	FIELD(ibv_send_wr, wr.atomic.rkey);
	SIZE(ibv_recv_wr);
	FIELD(ibv_recv_wr, wr_id);
	FIELD(ibv_recv_wr, next);
	FIELD(ibv_recv_wr, sg_list);
	FIELD(ibv_recv_wr, num_sge);
	SIZE(ibv_wc);
	FIELD(ibv_wc, wr_id);
	FIELD(ibv_wc, status);
	FIELD(ibv_wc, opcode);
	FIELD(ibv_wc, vendor_err);
	FIELD(ibv_wc, byte_len);
	FIELD(ibv_wc, imm_data);
	FIELD(ibv_wc, qp_num);
	FIELD(ibv_wc, src_qp);
	FIELD(ibv_wc, wc_flags);
	FIELD(ibv_wc, pkey_index);
	FIELD(ibv_wc, slid);
	FIELD(ibv_wc, sl);
	FIELD(ibv_wc, dlid_path_bits);
	FIELD(rdma_event_channel, fd);
	FIELD(ibv_comp_channel, fd);
	NUMBER(IBV_WR_RDMA_WRITE);
	NUMBER(IBV_WR_RDMA_WRITE_WITH_IMM);
	NUMBER(IBV_WR_SEND);
	NUMBER(IBV_WR_SEND_WITH_IMM);
	NUMBER(IBV_WR_RDMA_READ);
	NUMBER(IBV_WR_ATOMIC_CMP_AND_SWP);
	NUMBER(IBV_WR_ATOMIC_FETCH_AND_ADD);
	NUMBER(IBV_SEND_FENCE);
	NUMBER(IBV_SEND_SIGNALED);
	NUMBER(IBV_SEND_SOLICITED);
	NUMBER(IBV_SEND_INLINE);
	NUMBER(IBV_WC_SUCCESS);
	NUMBER(IBV_WC_WR_FLUSH_ERR);
	NUMBER(IBV_WC_REM_ACCESS_ERR);
	NUMBER(IBV_WC_RETRY_EXC_ERR);
	NUMBER(IBV_WC_RNR_RETRY_EXC_ERR);
	NUMBER(IBV_WC_RECV);
	NUMBER(IBV_WC_RECV_RDMA_WITH_IMM);
	NUMBER(IBV_WC_WITH_IMM);
	NUMBER(IBV_ACCESS_LOCAL_WRITE);
	NUMBER(IBV_ACCESS_REMOTE_WRITE);
	NUMBER(IBV_ACCESS_REMOTE_READ);
	NUMBER(IBV_ACCESS_REMOTE_ATOMIC);
	NUMBER(IBV_QPT_RC);
	NUMBER(RDMA_PS_TCP);
	NUMBER(RDMA_CM_EVENT_ADDR_RESOLVED);
	NUMBER(RDMA_CM_EVENT_ROUTE_RESOLVED);
	NUMBER(RDMA_CM_EVENT_CONNECT_REQUEST);
	NUMBER(RDMA_CM_EVENT_CONNECT_ERROR);
	NUMBER(RDMA_CM_EVENT_UNREACHABLE);
	NUMBER(RDMA_CM_EVENT_REJECTED);
	NUMBER(RDMA_CM_EVENT_ESTABLISHED);
	NUMBER(RDMA_CM_EVENT_DISCONNECTED);
	NUMBER(RDMA_CM_EVENT_DEVICE_REMOVAL);
	NUMBER(RDMA_CM_EVENT_ADDR_CHANGE);
	NUMBER(RDMA_CM_EVENT_TIMEWAIT_EXIT);
	return 0;
}
